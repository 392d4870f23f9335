package fleet

import (
	"testing"

	"edgeguard/aggregator"
)

// A version counts as merged when the node has merged what it brought: after the
// end of a full read, and after each change.
func TestMerging(t *testing.T) {
	m := NewMirror()
	follow := func(version int64) bool {
		return m.Follow("203.0.113.0/24", "x", aggregator.Judged{}, false, version)
	}
	for _, step := range []struct {
		name string
		do   func()
		want bool
	}{
		{"new", func() {}, false},
		{"a full read begins", func() { m.Begin(5) }, true},
		{"and fails, and begins again", func() { m.Begin(6) }, true},
		{"it ends", m.DropUnread, false},
		{"a change that does not follow", func() { follow(8) }, false},
		{"a change", func() { follow(7) }, true},
		{"it is merged", m.Merged, false},
	} {
		if step.do(); m.Merging() != step.want {
			t.Fatalf("%s: merging %v", step.name, m.Merging())
		}
	}
	if _, version := m.Digest(0); version != 7 {
		t.Errorf("version %d", version)
	}
}
