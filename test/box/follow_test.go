package box

import (
	"slices"
	"strings"
)

// An edit is what a scenario changes of a block: the example's name of a file or
// host, and limits that a test reaches soon. What it replaces must be there.
type edit struct{ old, now string }

// follow does what the blocks of a scenario say, in their order.
func (b *box) follow(name string, edits ...edit) {
	b.t.Helper()
	used := make([]bool, len(edits))
	for _, s := range allSteps(b.t) {
		if !slices.Contains(s.scenarios, name) {
			continue
		}
		text := s.text
		for i, e := range edits {
			if strings.Contains(text, e.old) {
				text, used[i] = strings.ReplaceAll(text, e.old, e.now), true
			}
		}
		b.does(s, text)
	}
	for i, e := range edits {
		if !used[i] {
			b.t.Fatalf("no block of %s has %q", name, e.old)
		}
	}
}

// does does what one block says.
func (b *box) does(s step, text string) {
	b.t.Helper()
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			b.done++
		}
	}
	out, err := b.try(text)
	if err != nil {
		b.t.Fatalf("%s: %v\n%s\n%s", s.where, err, text, out)
	}
	b.t.Logf("%s:\n%s\n%s", s.where, text, out)
}
