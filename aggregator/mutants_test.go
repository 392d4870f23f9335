//go:build mutants

package aggregator_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestMutants checks that the model finds each of these mistakes within 2,000
// runs. It takes minutes: go test -tags mutants -run TestMutants -timeout 1h.
func TestMutants(t *testing.T) {
	for _, m := range []struct{ name, file, text, mistake string }{
		{"the first slot of a kept boot moves to the restart", "totals.go",
			"m.since.Store(n.localSlot(m, epoch))", "m.since.Store(m.slot(started) + 0*uint32(epoch))"},
		{"a marker is believed after a kill", "../internal/fleetmodel/restart.go",
			"const believesMarkers = false", "const believesMarkers = true"},
		{"restored counts are pushed by another boot", "totals.go",
			"n.meters[i].since.Store(n.meters[i].slot(now) + 1)", "n.meters[i].since.Store(0)"},
		{"a step of the clock leaves old slots to be pushed", "totals.go",
			"m.since.Store(max(m.since.Load(), m.slot(now)+1))", ""},
		{"the share goes by the nodes alive now", "nodes.go",
			"return a.past[0].nodes", "return nodes"},
		{"the share does not follow the nodes", "nodes.go",
			"nodes = max(n.config.MaxNodes, min(nodes, mostNodes*n.config.MaxNodes))", "nodes = n.config.MaxNodes"},
		{"held back by an older slot", "holdback.go",
			"s.base.at == slot", "s.base.at != 0"},
		{"held back though watched", "holdback.go",
			"s.watchedUntil == 0", "true"},
		{"held back by any answer", "answer_taken.go",
			"		// The answer to an older push says nothing of the newest, which may be", "s.base, s.waiting = p.base, false"},
		{"a total proves itself", "proof.go",
			"return max(s.proof(slot), limit-min(count, limit))", "return s.rest"},
		{"every field of a split counts", "../internal/fleetmodel/fleet.go",
			"return f.ids[id]", "return true"},
		{"a reload forgets what it took over", "reload.go",
			"p.mark(id, &s)", ""},
	} {
		t.Run(m.name, func(t *testing.T) { mutate(t, m.file, m.text, m.mistake) })
	}
}

// mutate runs the model with one text of one file replaced.
func mutate(t *testing.T, file, text, mistake string) {
	path, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(source), text) != 1 {
		t.Fatalf("%s has %q not once: the mutant is out of date", file, text)
	}
	mutant := filepath.Join(t.TempDir(), "mutant.go")
	if err := os.WriteFile(mutant, []byte(strings.Replace(string(source), text, mistake, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {path: mutant}})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(t.TempDir(), "overlay.json")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	run := exec.CommandContext(t.Context(), "go", "test", "-overlay", list, "-run", "^TestFleet$", "-timeout", "20m", ".")
	run.Env = append(os.Environ(), "SEED=1", "RUNS=2000")
	out, err := run.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "seed ") {
		t.Errorf("survived, or did not build:\n%.2000s", out)
		return
	}
	t.Logf("%.400s", out)
}
