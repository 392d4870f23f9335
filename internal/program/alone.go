package program

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Alone begins the test again in a network of its own, where the default ports are
// free, and reports whether this is the inner one. It skips the test where the
// machine allows no namespace.
func Alone(t *testing.T) bool {
	t.Helper()
	const inside, prepare = "EDGEGUARD_TEST_ALONE", "ip link set lo up"
	if os.Getenv(inside) != "" {
		return true
	}
	if out, err := exec.Command("unshare", "-rn", "sh", "-c", prepare).CombinedOutput(); err != nil {
		t.Skipf("no namespace here: %v: %s", err, out)
	}
	program, err := Build()
	if err != nil {
		t.Fatal(err)
	}
	inner := exec.Command("unshare", "-rn", "--kill-child", "sh", "-c", prepare+` && exec "$0" "$@"`,
		os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=5m")
	inner.Env = append(os.Environ(), inside+"=yes", Built+"="+program)
	out, err := inner.CombinedOutput()
	t.Logf("%s", out)
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Fatalf("in the namespace: %v", err)
	}
	return false
}
