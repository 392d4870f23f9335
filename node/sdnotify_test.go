package node

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// systemd returns what systemd would receive, message by message.
func systemd(t *testing.T) (path string, next func() string) {
	t.Helper()
	path = filepath.Join(shortDir(t), "notify.sock")
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return path, func() string {
		t.Helper()
		if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 4096)
		n, err := c.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		return string(b[:n])
	}
}

func TestNotifyTellsEachState(t *testing.T) {
	path, next := systemd(t)
	t.Setenv("NOTIFY_SOCKET", path)
	t.Setenv("WATCHDOG_USEC", "2000000")
	t.Setenv("WATCHDOG_PID", fmt.Sprint(os.Getpid()))
	u := newNode(t, shortDir(t), small).start()
	seen := map[string]bool{}
	until := func(want string) {
		t.Helper()
		for !seen[want] {
			message := next()
			seen[strings.SplitAfter(message, "=1")[0]] = true
			if strings.HasPrefix(message, "RELOADING") && !strings.Contains(message, "\nMONOTONIC_USEC=") {
				t.Errorf("%q has no time", message)
			}
		}
	}
	until("READY=1")
	until("WATCHDOG=1")
	clear(seen)
	if err := u.Reload(); err != nil {
		t.Fatal(err)
	}
	until("RELOADING=1")
	until("READY=1")
	u.stop()
	until("STOPPING=1")
}

func TestNotifyTellsNobody(t *testing.T) {
	n := newNotifier(func(string) string { return "" })
	n.ready("x")
	n.reloading()
	if n.watchdog != 0 {
		t.Errorf("a watchdog of %v that was not asked for", n.watchdog)
	}
	if n := newNotifier(func(name string) string { return map[string]string{"WATCHDOG_PID": "1", "WATCHDOG_USEC": "5"}[name] }); n.watchdog != 0 {
		t.Error("another process's watchdog was taken for ours")
	}
	n.address = "/nonexistent/notify.sock"
	n.stopping() // errors are ignored
}
