package console

import (
	"context"
	"os/exec"
	"strings"
	"testing"
)

// A real browser shows some pages without one message: no violation of the policy, no file
// that is missing. test/console/e2e has it look at all of them.
func TestBrowser(t *testing.T) {
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("chromium is not installed: apt-get install chromium")
	}
	n := busy(t)
	for _, path := range []string{"/", "/blocked", "/rules/site", "/address/" + offender} {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		browser := exec.CommandContext(ctx, chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--v=0",
			"--user-data-dir="+t.TempDir(), "--dump-dom", n.base+path)
		var said strings.Builder
		browser.Stderr = &said
		dom, err := browser.Output()
		cancel()
		if err != nil || !strings.Contains(string(dom), `<main id="main">`) {
			t.Fatalf("%s: %v\n%s", path, err, said.String())
		}
		for line := range strings.Lines(said.String()) {
			if strings.Contains(line, ":CONSOLE") {
				t.Errorf("%s: %s", path, line)
			}
		}
	}
}
