package torture

import (
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"edgeguard/internal/program"
)

// inNamespace begins the test anew in a namespace of its own for the network
// and for mounts, and reports whether this is the inner one. Every address of
// 203.0.113.0/24 may be had there for connecting from. Such an address belongs
// to no interface: a node there takes it for a stranger's, and so would not one
// of loopback.
func inNamespace(t *testing.T) bool {
	t.Helper()
	if os.Getenv(program.Built) != "" {
		return true
	}
	for _, tool := range []string{"unshare", "ip", "sh"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("needs unshare and ip: apt-get install util-linux iproute2")
		}
	}
	const prepare = `ip link set lo up && ip route add local 203.0.113.0/24 dev lo`
	if out, err := exec.Command("unshare", "-rnm", "sh", "-c", prepare).CombinedOutput(); err != nil {
		t.Skipf("no namespace here: %v: %s", err, out)
	}
	inner := exec.Command("unshare", "-rnm", "--kill-child", "sh", "-c", prepare+` && exec "$0" "$@"`,
		os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=20m")
	programHere, err := program.Build()
	if err != nil {
		t.Fatal(err)
	}
	inner.Env = append(os.Environ(), program.Built+"="+programHere)
	inner.WaitDelay = time.Second
	out, err := inner.CombinedOutput()
	t.Logf("%s", out)
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Fatalf("in the namespace: %v", err)
	}
	return false
}

// dialFrom connects from an address of 203.0.113.0/24.
func dialFrom(t *testing.T, from, to string) net.Conn {
	t.Helper()
	dialer := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(from), 0))}
	conn, err := dialer.DialContext(t.Context(), "tcp", to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}
