package haproxypeers

import (
	"slices"
	"testing"

	"edgeguard/haproxy/peers"
)

// A table that is defined again takes the place of the former: what is wrong with it, and
// what is right, is said of the last one. Redefinitions without end use no memory.
func TestDefinedAgain(t *testing.T) {
	c := Config{Table: "counts_1", Columns: 2, Alike: func(name string) bool { return name != "other" }}
	var found checks
	good := counts
	found.define(&good, &c)
	found.whole = true
	if found.counts != &good || len(found.wrong(&c)) > 0 {
		t.Fatalf("%+v, %q", found, found.wrong(&c))
	}
	bad := counts
	bad.Stored = []peers.Stored{{Type: peers.GPC, Elements: 3}}
	found.define(&bad, &c)
	if found.counts != nil || !slices.Equal(found.wrong(&c), []string{"table counts_1 is not used: it stores 3 counters (gpc), and the rules of this node have 2"}) {
		t.Errorf("%+v, %q", found, found.wrong(&c))
	}
	for range 1000 {
		bad.Name += "x"
		found.define(&bad, &c)
	}
	if len(found.tables) != 1 {
		t.Errorf("%d tables", len(found.tables))
	}
	keys := counts
	keys.Key = peers.String
	found.define(&keys, &c)
	if !slices.Equal(found.wrong(&c), []string{"table counts_1 is not used: its keys are not of type ipv6"}) {
		t.Errorf("%q", found.wrong(&c))
	}
}
