package clients

import (
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"
)

// floorAt is the variable that has this program be a server of net/http that answers without
// a look at what it is asked: what an answer costs at least.
const floorAt = "ENVOY_FLOOR_AT"

func serveFloor(socket string) error {
	l, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	var only http.Protocols
	only.SetUnencryptedHTTP2(true)
	answer := []byte{0, 0, 0, 0, 4, 0x0a, 0, 0x1a, 0} // it may go on
	s := http.Server{Protocols: &only, ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		h := w.Header()
		h["Date"], h["Content-Type"], h["Trailer"] = nil, []string{"application/grpc"}, []string{"Grpc-Status"}
		_, _ = w.Write(answer)
		h["Grpc-Status"] = []string{"0"}
	})}
	return s.Serve(l)
}

// floor runs such a server until the test ends.
func floor(t testing.TB) running {
	t.Helper()
	dir, err := os.MkdirTemp("", "n")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	run := exec.Command(os.Args[0])
	run.Env = append(os.Environ(), floorAt+"="+dir+"/s")
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = run.Process.Kill()
		_ = run.Wait()
	})
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		c, err := net.Dial("unix", dir+"/s")
		if err == nil {
			_ = c.Close()
			return running{socket: "unix:" + dir + "/s", pid: run.Process.Pid}
		}
		if time.Now().After(deadline) {
			t.Fatalf("the floor does not listen: %v", err)
		}
	}
}
