package lobby

import (
	"io"
	"net"
	"runtime"
	"testing"
	"time"
)

// The kernel knows how long what came last waited for an answer, whenever it was read.
func TestWaited(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("how long something waited is known on Linux alone")
	}
	r := newRoom(t, 1)
	far, err := net.Dial("tcp", r.lobby.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	accepted, err := r.lobby.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer accepted.Close()
	near := accepted.(*Conn)
	if _, err := io.WriteString(far, "question"); err != nil {
		t.Fatal(err)
	}
	for waited := time.Duration(0); waited < 8*time.Millisecond; waited = near.Waited() { // two ticks of a slow kernel
		if _, err := io.WriteString(near, "answer"); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(8 * time.Millisecond) // the kernel's clock
	if _, err := io.WriteString(far, "another"); err != nil {
		t.Fatal(err)
	}
	buffer := make([]byte, 64)
	for got := 0; got < len("questionanother"); {
		n, err := near.Read(buffer)
		if err != nil {
			t.Fatal(err)
		}
		got += n
	}
	if waited := near.Waited(); waited != 0 {
		t.Errorf("what is not answered has waited %v", waited)
	}
	pipe, _ := net.Pipe()
	if waited := (&Conn{Conn: pipe}).Waited(); waited != 0 {
		t.Errorf("what is no socket has waited %v", waited)
	}
}
