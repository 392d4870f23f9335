package hostaddr

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestNamespace runs itself again in a network namespace, where it may add
// addresses and routes without harm, and sees them protected as they come.
func TestNamespace(t *testing.T) {
	const inside = "EDGEGUARD_TEST_NAMESPACE"
	if os.Getenv(inside) != "" {
		testInNamespace(t)
		return
	}
	if os.Getuid() != 0 {
		t.Skip("needs root, for a network namespace")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("needs ip: apt-get install iproute2")
	}
	self := exec.Command(os.Args[0], "-test.run=^TestNamespace$", "-test.v", "-test.timeout=60s")
	self.Env = append(os.Environ(), inside+"=1")
	self.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	out, err := self.CombinedOutput()
	switch {
	case self.ProcessState == nil:
		t.Skipf("no network namespace here: %v", err)
	case err != nil:
		t.Fatalf("%v\n%s", err, out)
	case strings.Contains(string(out), "--- SKIP"):
		t.Skip(string(out))
	}
}

func testInNamespace(t *testing.T) {
	ip := func(args string) {
		t.Helper()
		if out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput(); err != nil {
			t.Fatalf("ip %s: %v\n%s", args, err, out)
		}
	}
	if out, err := exec.Command("ip", "link", "add", "edge0", "type", "veth", "peer", "name", "edge1").CombinedOutput(); err != nil {
		t.Skipf("no veth interface in this kernel: %s", out)
	}
	ip("link set lo up")
	ip("link set edge0 up")
	ip("link set edge1 up")

	ctx, stop := context.WithCancel(t.Context())
	news, done := make(chan Set), make(chan error)
	go func() {
		done <- Run(ctx, Config{}, 20*time.Millisecond, func(s Set, err error) {
			if err != nil {
				t.Log(err)
			}
			select {
			case news <- s:
			case <-ctx.Done():
			}
		})
	}()
	defer func() { stop(); <-done }()

	// until waits for a set in which the line stands, or no longer stands.
	until := func(line string, there bool) {
		t.Helper()
		deadline := time.After(time.Minute)
		for {
			select {
			case s := <-news:
				if strings.Contains(show(s), line+"\n") == there {
					return
				}
			case <-deadline:
				t.Fatalf("%q: never there=%t", line, there)
			}
		}
	}
	ip("addr add 192.0.2.10/24 dev edge0")
	until("192.0.2.10/32 interface edge0", true)
	ip("addr add 2001:db8::10/64 dev edge0 nodad")
	until("2001:db8::10/128 interface edge0", true)
	ip("route add default via 192.0.2.1")
	until("192.0.2.1/32 gateway", true)
	ip("-6 route add default via 2001:db8::1 dev edge0")
	until("2001:db8::1/128 gateway", true)
	ip("addr add 198.51.100.9/32 dev edge0")
	until("198.51.100.9/32 interface edge0", true)
	ip("addr del 198.51.100.9/32 dev edge0")
	until("198.51.100.9/32 interface edge0", false)
}
