package console

import (
	"strings"
	"testing"

	"edgeguard/admin"
)

// What is said of a block follows what is known: where its events came from, which list has
// it, and the mode. "Refused" is said of what this node answered, or a log shows.
func TestRefusedSentence(t *testing.T) {
	some := func(n uint32) *uint32 { return &n }
	const list = "/var/lib/edgeguard/geo.conf"
	for name, test := range map[string]struct {
		b       admin.ActiveBlock
		monitor bool
		want    string
	}{
		// Nothing came.
		"nothing":            {admin.ActiveBlock{Refused: some(0)}, false, " Since then nothing of it came to this node."},
		"nothing, a list":    {admin.ActiveBlock{RefusedBy: list}, false, " Since then nothing of it came to this node. It is in " + list + ": what is refused by that may never come here."},
		"nothing, a kernel":  {admin.ActiveBlock{RefusedBy: "nftables edgeguard"}, false, " Since then nothing of it came to this node. It is in nftables edgeguard: what is refused by that may never come here."},
		"nothing in monitor": {admin.ActiveBlock{Refused: some(0)}, true, " Since then nothing of it came to this node."},
		// A proxy asked, and waited for the answer.
		"asked":            {admin.ActiveBlock{Refused: some(7), Asked: 7}, false, " Since then this node refused *7 events of it*."},
		"asked, a list":    {admin.ActiveBlock{Refused: some(1), Asked: 1, RefusedBy: list}, false, " Since then this node refused *1 event of it*. It is also in " + list + "."},
		"asked in monitor": {admin.ActiveBlock{Refused: some(7), Asked: 7}, true, " Since then this node would have refused *7 events of it*."},
		// A log was read.
		"served":              {admin.ActiveBlock{Refused: some(25), Served: 25}, false, " Since then the verdict on *25 events of it* was to refuse: *25 served, as a log shows*."},
		"served, a list":      {admin.ActiveBlock{Refused: some(25), Served: 25, RefusedBy: list}, false, " Since then the verdict on *25 events of it* was to refuse: *25 served, as a log shows*. It is also in " + list + "."},
		"turned away":         {admin.ActiveBlock{Refused: some(3), TurnedAway: 3}, false, " Since then the verdict on *3 events of it* was to refuse: 3 turned away, as a log shows."},
		"turned away, a list": {admin.ActiveBlock{Refused: some(3), TurnedAway: 3, RefusedBy: list}, false, " Since then the verdict on *3 events of it* was to refuse: 3 turned away, as a log shows. It is also in " + list + "."},
		"a log in monitor":    {admin.ActiveBlock{Refused: some(25)}, true, " Since then this node would have refused *25 events of it*."},
		// HAProxy counted them, or a log without a status has them.
		"not known":         {admin.ActiveBlock{Refused: some(4)}, false, " Since then the verdict on *4 events of it* was to refuse: of 4 it is not known."},
		"not known, a list": {admin.ActiveBlock{Refused: some(4), RefusedBy: "haproxy peers"}, false, " Since then the verdict on *4 events of it* was to refuse: of 4 it is not known. It is also in haproxy peers."},
		// All of them.
		"mixed": {admin.ActiveBlock{Refused: some(1000 + 200 + 30 + 4), Asked: 1230, TurnedAway: 200, Served: 1000, RefusedBy: list}, false,
			" Since then the verdict on *1,234 events of it* was to refuse: *1,000 served, as a log shows*, 200 turned away, as a log shows, 30 refused by this node, of 4 it is not known. It is also in " + list + "."},
		// A proxy asked about each, and a log tells what became of them; counts may be a moment apart.
		"let through": {admin.ActiveBlock{Refused: some(3), Asked: 3, TurnedAway: 1, Served: 1}, false, " Since then the verdict on *3 events of it* was to refuse: *1 served, as a log shows*, 1 turned away, as a log shows, 1 refused by this node."},
		"apart":       {admin.ActiveBlock{Refused: some(2), Asked: 2, TurnedAway: 3}, false, " Since then this node refused *2 events of it*."},
		"more served": {admin.ActiveBlock{Refused: some(2), Asked: 1, TurnedAway: 2, Served: 2}, false, " Since then the verdict on *2 events of it* was to refuse: *2 served, as a log shows*, 2 turned away, as a log shows."},
	} {
		var got strings.Builder
		for _, c := range refused(&test.b, test.monitor) {
			text := c.Text
			if c.Strong {
				text = "*" + text + "*"
			}
			got.WriteString(text)
		}
		if got.String() != test.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got.String(), test.want)
		}
	}
}

// The totals say what logs show of them.
func TestDeniedTotals(t *testing.T) {
	if got := denied(&admin.Stats{Events: admin.Totals{Decided: 100, Denied: 25}}); got != "25.0 % of all events" {
		t.Error(got)
	}
	if got := denied(&admin.Stats{Monitor: true, Events: admin.Totals{Decided: 100, Shadowed: 60, WouldBeRefused: 50}}); got != "50.0 % of all events" {
		t.Errorf("in mode monitor: %s", got)
	}
	if got := denied(&admin.Stats{Events: admin.Totals{Decided: 100, Denied: 25, Served: 5}}); got != "25.0 % of all events; 5 were served, as logs show" {
		t.Error(got)
	}
}
