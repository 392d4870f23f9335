package fleet

import (
	"fmt"
	"testing"
)

// TestRejected: each prefix is new once, until it is over; and so many at most.
func TestRejected(t *testing.T) {
	var r Rejected
	none := func(string) bool { return false }
	if r.DropPrefix("a") || len(r.PrefixesGone(none)) != 0 {
		t.Error("an empty set has something")
	}
	if !r.First("a") || r.First("a") || !r.First("b") {
		t.Error("new is not new, or twice")
	}
	if got := fmt.Sprint(r.PrefixesGone(func(prefix string) bool { return prefix == "a" })); got != "[b]" {
		t.Errorf("gone: %s", got)
	}
	if !r.DropPrefix("a") || r.DropPrefix("a") || !r.First("a") {
		t.Error("what was over is not new")
	}
	for i := range 2 * mostAlarmed {
		r.First(fmt.Sprint(i))
	}
	if got := len(r.PrefixesGone(none)); got != mostAlarmed {
		t.Errorf("%d in the set", got)
	}
}
