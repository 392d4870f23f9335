// Package mutanttest runs a package's tests with one mistake made in its code: tests that
// are worth their time fail.
package mutanttest

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Outcome is what tests said of a mistake.
type Outcome struct {
	Built bool
	// Failed is the test that failed first, or was running when the time was up; "?" if
	// none is named. It is empty if all tests passed: the mistake has survived.
	Failed string
	Output string
}

// Run runs go test with args, and with a file's text replaced by source: nothing is
// written into the checkout.
func Run(tb testing.TB, file string, source []byte, args ...string) Outcome {
	tb.Helper()
	path, err := filepath.Abs(file)
	if err != nil {
		tb.Fatal(err)
	}
	dir := tb.TempDir()
	mutant, list := filepath.Join(dir, "mutant.go"), filepath.Join(dir, "overlay.json")
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {path: mutant}})
	if err != nil {
		tb.Fatal(err)
	}
	for name, data := range map[string][]byte{mutant: source, list: overlay} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	run := exec.CommandContext(context.Background(), "go", append([]string{"test", "-overlay", list}, args...)...)
	out, err := run.CombinedOutput()
	o := Outcome{Built: !strings.Contains(string(out), "[build failed]"), Output: string(out)}
	if err != nil {
		o.Failed = firstFailed(o.Output)
	}
	return o
}

// failures are the ways in which go test names a test that did not pass. The second
// is of a test that the time was up for, the third of a panic in another goroutine.
var failures = []*regexp.Regexp{
	regexp.MustCompile(`(?m)^\s*--- FAIL: (\w+)`),
	regexp.MustCompile(`(?m)^\s*running tests:\n\s+(\w+)`),
	regexp.MustCompile(`(?m)_test\.(Test\w+)[.(]`),
}

func firstFailed(output string) string {
	for _, f := range failures {
		if found := f.FindStringSubmatch(output); found != nil {
			return found[1]
		}
	}
	return "?"
}
