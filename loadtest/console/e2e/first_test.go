package e2e

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"edgeguard/internal/nodetest"
)

// alone begins the test again in a network of its own, where the default ports are
// free, and reports whether this is the inner one.
func alone(t *testing.T) bool {
	t.Helper()
	const inside, prepare = "CONSOLE_ALONE", "ip link set lo up"
	if os.Getenv(inside) != "" {
		return true
	}
	if out, err := exec.Command("unshare", "-rn", "sh", "-c", prepare).CombinedOutput(); err != nil {
		t.Skipf("no namespace here: %v: %s", err, out)
	}
	inner := exec.Command("unshare", "-rn", "--kill-child", "sh", "-c", prepare+` && exec "$0" "$@"`, os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=5m")
	inner.Env = append(os.Environ(), inside+"=yes")
	out, err := inner.CombinedOutput()
	t.Logf("%s", out)
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Fatalf("in the namespace: %v", err)
	}
	return false
}

// Who has just built edgeguard points it at a log, opens the address that it prints,
// and sees the first offender: without a login, a config or an edited file.
func TestFirstLook(t *testing.T) {
	if !alone(t) {
		return
	}
	file := filepath.Join(t.TempDir(), "access.log")
	log, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	begun := time.Now()
	serve := exec.Command(os.Getenv(nodetest.Built), "serve", "--log", file)
	out, err := serve.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = serve.Process.Kill(); _ = serve.Wait() })
	address := ""
	for lines := bufio.NewScanner(out); address == "" && lines.Scan(); {
		if _, rest, found := strings.Cut(lines.Text(), "console at "); found {
			address, _, _ = strings.Cut(rest, ": ")
		}
	}
	b := newTab(t)
	b.wait("the console listens", func() bool { c, err := asker.Get(address); return err == nil && c.Body.Close() == nil })
	b.open(address)
	b.until("nobody is blocked", `document.body.innerText.includes("Nobody is blocked")`)
	for range 1901 {
		if _, err := fmt.Fprintf(log, "%s - - [%s] \"GET /x HTTP/1.1\" 200 612 \"-\" \"curl/8.0\"\n", offender, time.Now().Format("02/Jan/2006:15:04:05 -0700")); err != nil {
			t.Fatal(err)
		}
	}
	written := time.Now()
	b.wait("the offender is on the page", func() bool {
		b.open(address)
		return eval[bool](b, `[...document.querySelectorAll("table.blocks a")].some(a => a.textContent === "`+offender+`")`)
	})
	t.Logf("the offender was on the page %.2f s after its 1,901st line, and %.2f s after the node was started; at most 10 s are right", time.Since(written).Seconds(), time.Since(begun).Seconds())
}
