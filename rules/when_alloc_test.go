//go:build !race

// Under the race detector sync.Pool drops what it is given at random, and a regular
// expression keeps its state in one.

package rules_test

import "testing"

func TestWhenAllocations(t *testing.T) {
	for _, c := range []struct {
		when, path string
		most       float64
	}{
		{`path contains ".php" || agent == ""`, "/a/b.html?x", 0},
		{`path contains ".php" || agent == ""`, "//a/b.html?x", 1},
		{`agent matches "(?i)bot" and query != "" and status in [404, 403]`, "/a/b.html?x", 0},
	} {
		m, ev := compileWhen(t, c.when), answer()
		ev.Path = c.path
		if n := testing.AllocsPerRun(100, func() { m.Match(&ev) }); n > c.most {
			t.Errorf("%s on %s allocates %v times", c.when, c.path, n)
		}
	}
}
