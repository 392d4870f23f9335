//go:build mutants

package aggregator_test

import (
	"os"
	"strings"
	"testing"

	"edgeguard/internal/mutanttest"
)

// TestMutants checks that the model finds each of these mistakes within 2,000
// runs. It takes minutes: go test -tags mutants -run 'Mutants$' -timeout 1h.
func TestMutants(t *testing.T) {
	for _, m := range []struct{ name, file, text, mistake string }{
		{"the first slot of a kept boot moves to the restart", "totals.go",
			"m.since.Store(n.localSlot(m, epoch))", "m.since.Store(m.slot(started) + 0*uint32(epoch))"},
		{"a marker is believed after a kill", "../internal/fleetmodel/restart.go",
			"const believesMarkers = false", "const believesMarkers = true"},
		{"restored counts are pushed by another boot", "totals.go",
			"m.since.Store(m.slot(now))", "m.since.Store(0)"},
		{"restored counts of the first slot are pushed", "totals.go",
			"m.moveBefore(m.slot(now))", ""},
		{"a boot pushes from its second slot on", "totals.go",
			"m.since.Store(m.slot(now))", "m.since.Store(m.slot(now) + 1)"},
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
			"return max(s.proof(slot), limit-min(count, limit), floor)", "return s.rest"},
		{"every field of a split counts", "../internal/fleetmodel/fleet.go",
			"return f.ids[id]", "return true"},
		{"a reload forgets what it took over", "reload.go",
			"p.mark(id, &s)", ""},
	} {
		t.Run(m.name, func(t *testing.T) { mutate(t, m.file, m.text, m.mistake, "-run", "^TestFleet$", ".") })
	}
}

// TestRefusalMutants is TestMutants for what is left of the others' counts: the clients of a
// fleet that refuses find each mistake, or the package's own tests do.
func TestRefusalMutants(t *testing.T) {
	for _, m := range []struct {
		name, file, text, mistake string
		own                       bool
	}{
		{"what remains does not leave", "remainder.go",
			"for _, n := range f.leaves[slot-f.at:] {", "for _, n := range f.leaves {", false},
		{"an unblock leaves what remains", "remainder.go",
			"if f == nil || f.at < max(n.cleared.of(id), n.emptied.of(id)) {", "if f == nil {", true},
		{"what Redis lost remains", "remainder.go",
			"a.Total-min(a.Total, push.Sum) < f.of(push.head)", "false", false},
		{"what an earlier boot pushed is the others'", "remainder.go",
			"rest := others - min(others, here-min(here, mine))", "rest := others", false},
		{"a split of after a step says what remains", "remainder.go",
			"slot < from || m.partial(slot)", "slot < from", false},
		{"a split of after a step proves", "proof.go",
			"at == slot && !m.partial(slot)", "at == slot", false},
		{"Retry-After by what is proven alone", "until.go",
			"f.heard.Add(slot, uint16(min(rest-known, ring.Max)))", "", false},
		{"what was heard does not leave", "until.go",
			"f.heard.Advance(f.head, slot)", "", true},
		{"what is known nowhere else does not stay", "until.go",
			"told += s.rest // what more of the others is known nowhere else", "", true},
		{"an extension by what is not proven", "until.go",
			"if here+sure > limit {", "if here+sure+told > limit {", false},
	} {
		t.Run(m.name, func(t *testing.T) {
			if m.own {
				mutate(t, m.file, m.text, m.mistake, "-run", "^Test(Until|Hear|Remainder)", ".")
			} else {
				mutate(t, m.file, m.text, m.mistake, "-run", "^Test(Deny|Retry|WhileOver)", "../internal/fleetmodel", "-denyruns", "400")
			}
		})
	}
}

// mutate runs tests with one text of one file replaced.
func mutate(t *testing.T, file, text, mistake string, args ...string) {
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(source), text) != 1 {
		t.Fatalf("%s has %q not once: the mutant is out of date", file, text)
	}
	t.Setenv("SEED", "1")
	t.Setenv("RUNS", "2000")
	o := mutanttest.Run(t, file, []byte(strings.Replace(string(source), text, mistake, 1)), append([]string{"-timeout", "20m"}, args...)...)
	if !o.Built || o.Failed == "" {
		t.Errorf("survived, or did not build:\n%.2000s", o.Output)
		return
	}
	t.Logf("%s: %.400s", o.Failed, o.Output)
}
