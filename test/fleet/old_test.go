package fleet

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"edgeguard/internal/program"
	"edgeguard/internal/redistest"
)

// Fault 5, on the real program: a Redis before 7. The node serves, uses its own
// counts and says what is wrong; `fleet install` says it and fails.
func TestRedisTooOld(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	const says = "use Redis 7 or later, or Valkey"
	server := redistest.StartOld(t)
	p := startProcess(t, "edge-1", server)
	program.Eventually(t, "the node to say that Redis is too old", func() bool {
		return p.degraded() && strings.Contains(p.Said(), says)
	})
	const limit = 40
	for i := range limit + 1 {
		if refused := ask(t, p, standing); refused != (i == limit) {
			t.Fatalf("request %d of a limit of %d: refused %v", i+1, limit, refused)
		}
	}
	if lines := strings.Count(p.Said(), says); lines != 1 {
		t.Errorf("%d lines of its log say it", lines)
	}

	path, err := program.Build()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(path, "fleet", "install", "--redis", "redis://"+server.Addr).CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(string(out), says) {
		t.Errorf("fleet install: %v: %s", err, out)
	}
}
