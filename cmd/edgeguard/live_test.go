package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"edgeguard/admin"
	"edgeguard/admin/client"
	"edgeguard/internal/program"
)

// patience bounds every wait for something that must happen. Nothing is measured
// by it.
const patience = 60 * time.Second

// TestLive runs nodes as their operators do: each script in testdata/live is a
// session with a real process.
func TestLive(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/live",
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			shipped, err := filepath.Abs("../../packaging")
			e.Setenv("SHIPPED", shipped)
			return err
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"port": scriptPort, "expand": scriptExpand, "ready": scriptReady, "ask": scriptAsk, "get": scriptGet,
			"append": scriptAppend, "until": scriptUntil, "reload": scriptReload, "saved": scriptSaved,
			"has": scriptHas, "threshold": scriptThreshold, "take": scriptTake,
		},
		Condition: func(cond string) (bool, error) {
			if cond == "root" {
				return os.Geteuid() == 0, nil
			}
			_, err := exec.LookPath(cond)
			return err == nil, nil
		},
	})
}

// port VAR… gives each variable a free port of the loopback address.
func scriptPort(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		port, release, err := program.Claim()
		ts.Check(err)
		ts.Defer(release)
		ts.Setenv(name, strconv.Itoa(port))
	}
}

// threshold ADDRESS RULE FROM TO changes a threshold while the node runs.
func scriptThreshold(ts *testscript.TestScript, _ bool, args []string) {
	desk, err := client.New(client.Config{Address: args[0]})
	ts.Check(err)
	defer desk.Close()
	from, err := strconv.ParseUint(args[2], 10, 32)
	ts.Check(err)
	to, err := strconv.ParseUint(args[3], 10, 32)
	ts.Check(err)
	_, err = desk.SetThreshold(context.Background(), args[1], admin.ThresholdRequest{Threshold: uint32(to), IfThreshold: uint32(from), Note: "ticket 4711"})
	ts.Check(err)
}

// expand FILE… fills in the environment's variables, written ${NAME}.
func scriptExpand(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		text := os.Expand(ts.ReadFile(name), func(v string) string {
			if value := ts.Getenv(v); value != "" {
				return value
			}
			return "$" + v
		})
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o644))
	}
}

// clientOf returns a client for host:port or unix:PATH, and the base of its URLs.
func clientOf(address string) (*http.Client, string) {
	path, isUnix := strings.CutPrefix(address, "unix:")
	if !isUnix {
		return &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}, "http://" + address
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}
	return &http.Client{Timeout: patience, Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}, "http://localhost"
}

// getStatus asks for a path and gives the answer's status and body.
func getStatus(address, path string, header map[string]string) (int, string, error) {
	client, base := clientOf(address)
	request, err := http.NewRequest(http.MethodGet, base+path, nil)
	if err != nil {
		return 0, "", err
	}
	for name, value := range header {
		request.Header.Set(name, value)
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, string(body), err
}

// eventually tries until f gives no error.
func eventually(ts *testscript.TestScript, f func() error) {
	deadline := time.Now().Add(patience)
	for {
		err := f()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%v", err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// ready ADDRESS waits until a node's admin says that it is ready.
func scriptReady(ts *testscript.TestScript, _ bool, args []string) {
	eventually(ts, func() error {
		code, body, err := getStatus(args[0], "/readyz", nil)
		if err == nil && code != http.StatusOK {
			err = fmt.Errorf("%s: readyz %d: %s", args[0], code, body)
		}
		return err
	})
}

// ask COUNT STATUS ADDRESS CLIENT asks COUNT times for a client by nginx's
// protocol, and wants each answer to have the status.
func scriptAsk(ts *testscript.TestScript, _ bool, args []string) {
	count, err := strconv.Atoi(args[0])
	ts.Check(err)
	for i := range count {
		header := map[string]string{"X-Real-IP": args[3], "X-Original-URI": "/", "X-Original-Method": "GET"}
		code, _, err := getStatus(args[2], "/auth/nginx", header)
		ts.Check(err)
		if strconv.Itoa(code) != args[1] {
			ts.Fatalf("request %d of %s: %d, want %s", i+1, args[3], code, args[1])
		}
	}
}

// get STATUS ADDRESS PATH [FORWARDED] waits until the path answers with the
// status; the body goes to standard output's file.
func scriptGet(ts *testscript.TestScript, _ bool, args []string) {
	var header map[string]string
	if len(args) > 3 {
		header = map[string]string{"X-Forwarded-For": args[3]}
	}
	eventually(ts, func() error {
		code, body, err := getStatus(args[1], args[2], header)
		if err == nil && strconv.Itoa(code) != args[0] {
			err = fmt.Errorf("%s%s: %d, want %s: %s", args[1], args[2], code, args[0], body)
		}
		if err == nil {
			err = os.WriteFile(ts.MkAbs("body"), []byte(body), 0o644)
		}
		return err
	})
}

// append COUNT FILE CLIENT appends lines of a combined log, of now.
func scriptAppend(ts *testscript.TestScript, _ bool, args []string) {
	count, err := strconv.Atoi(args[0])
	ts.Check(err)
	f, err := os.OpenFile(ts.MkAbs(args[1]), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	ts.Check(err)
	for range count {
		_, err := fmt.Fprintf(f, "%s - - [%s] \"GET / HTTP/1.1\" 200 5 \"-\" \"test\"\n", args[2], time.Now().Format("02/Jan/2006:15:04:05 -0700"))
		ts.Check(err)
	}
	ts.Check(f.Close())
}

// until TEXT COMMAND… runs edgeguard's command again and again until its
// output has the text.
func scriptUntil(ts *testscript.TestScript, _ bool, args []string) {
	eventually(ts, func() error {
		command := exec.Command("edgeguard", args[1:]...)
		command.Dir = ts.MkAbs(".")
		command.Env = append(os.Environ(), "PATH="+ts.Getenv("PATH"))
		out, err := command.CombinedOutput()
		if !strings.Contains(string(out), args[0]) {
			return fmt.Errorf("%v: no %q in:\n%s(%v)", args[1:], args[0], out, err)
		}
		return nil
	})
}

// take VAR PATTERN sets a variable to what the last command's output has of a pattern.
func scriptTake(ts *testscript.TestScript, _ bool, args []string) {
	found := regexp.MustCompile(args[1]).FindString(ts.ReadFile("stdout"))
	if found == "" {
		ts.Fatalf("no %s in the output", args[1])
	}
	ts.Setenv(args[0], found)
}

// [!] has FILE TEXT waits until a file has a text, or has it not.
func scriptHas(ts *testscript.TestScript, not bool, args []string) {
	eventually(ts, func() error {
		content, err := os.ReadFile(ts.MkAbs(args[0]))
		if err == nil && strings.Contains(string(content), args[1]) == not {
			err = fmt.Errorf("%s holds:\n%s", args[0], content)
		}
		return err
	})
}

// reload STATUS ADDRESS has the node read its config again.
func scriptReload(ts *testscript.TestScript, _ bool, args []string) {
	client, base := clientOf(args[1])
	response, err := client.Post(base+"/api/v1/reload", "application/json", nil)
	ts.Check(err)
	body, err := io.ReadAll(response.Body)
	ts.Check(err)
	ts.Check(response.Body.Close())
	if strconv.Itoa(response.StatusCode) != args[0] {
		ts.Fatalf("reload: %d, want %s: %s", response.StatusCode, args[0], body)
	}
}

// saved COUNT ADDRESS waits until a node has saved its state so often.
func scriptSaved(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.ParseUint(args[0], 10, 64)
	ts.Check(err)
	eventually(ts, func() error {
		_, body, err := getStatus(args[1], "/api/v1/status", nil)
		if err != nil {
			return err
		}
		var s admin.Stats
		if err := json.Unmarshal([]byte(body), &s); err != nil {
			return err
		}
		if s.Snapshot == nil || s.Snapshot.Written < want {
			return fmt.Errorf("not saved so often yet: %s", body)
		}
		return nil
	})
}
