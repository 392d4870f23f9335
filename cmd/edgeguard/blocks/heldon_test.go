package blocks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"edgeguard/admin"
	"edgeguard/internal/safetext"
)

// fake is a node that answers so.
type fake struct {
	stats admin.Stats
	held  admin.FleetHeld
	err   error
	asked int
}

func (f *fake) Status(context.Context) (admin.Stats, error) { return f.stats, nil }

func (f *fake) FleetHeld(context.Context) (admin.FleetHeld, error) {
	f.asked++
	return f.held, f.err
}

func holds(name string, held uint32, waits ...string) admin.NodeHeld {
	n := admin.NodeHeld{Name: name, State: admin.NodeHolds, Held: held}
	for _, text := range waits {
		n.Waits = append(n.Waits, netip.MustParsePrefix(text))
	}
	return n
}

const (
	unsigned = "unsigned, because this fleet has no key: "
	asking   = unsigned + "asking the other nodes whether they hold it, for up to 6 s\n"
	unknown  = "another node may hold it: see edgeguard blocks held on each node, and confirm there\n"
)

func TestSay(t *testing.T) {
	keyless := admin.Stats{Fleet: &admin.Fleet{}}
	silent := admin.NodeHeld{Name: "edge-4", State: admin.NodeSilent}
	three := admin.FleetHeld{Alive: 3}
	for _, c := range []struct {
		name     string
		node     fake
		noWait   bool
		prefixes []string
		want     string
	}{
		{"a node alone", fake{}, false, []string{"203.0.0.0/16"}, ""},
		{"monitor", fake{stats: admin.Stats{Monitor: true, Fleet: &admin.Fleet{}}}, false, []string{"203.0.0.0/16"}, ""},
		{"signed", fake{stats: admin.Stats{Fleet: &admin.Fleet{KeyMode: "accept"}}}, false, []string{"203.0.0.0/16"},
			"signed with the fleet's key: it waits for confirmation on no node that has the key, unless all from other nodes is too wide there\n"},
		{"no node", fake{stats: keyless, held: three}, false, []string{"203.0.0.0/16"}, asking + "203.0.0.0/16 waits on none of the 3 nodes alive\n"},
		{"two nodes", fake{stats: keyless, held: admin.FleetHeld{Alive: 4, Nodes: []admin.NodeHeld{
			holds("edge-2", 1, "203.0.0.0/16"), holds("edge-3", 2, "10.0.0.0/12", "203.0.0.0/16"), holds("edge-6", 1, "10.0.0.0/12"),
		}}}, false, []string{"203.0.0.0/16"}, asking + "203.0.0.0/16 waits for confirmation on edge-2, edge-3: edgeguard blocks confirm 203.0.0.0/16 there\n"},
		{"those that do not say", fake{stats: keyless, held: admin.FleetHeld{Alive: 4, Nodes: []admin.NodeHeld{
			holds("edge-2", 1, "203.0.0.0/16"), holds("edge-3", 9, "10.0.0.0/12"), silent,
		}}}, false, []string{"203.0.0.0/16"}, asking + "203.0.0.0/16 waits for confirmation on edge-2: edgeguard blocks confirm 203.0.0.0/16 there\n" +
			"203.0.0.0/16 may wait on edge-3 (holds more records than it names), edge-4 (has not answered): see edgeguard blocks held there\n"},
		{"several", fake{stats: keyless, held: admin.FleetHeld{Alive: 2, Nodes: []admin.NodeHeld{holds("edge-2", 1, "203.0.113.9/32")}}}, false,
			[]string{"203.0.113.9", "::ffff:203.0.113.9", "2001:db8::/32"}, asking +
				"203.0.113.9 waits for confirmation on edge-2: edgeguard blocks confirm 203.0.113.9 there\n" +
				"::ffff:203.0.113.9 waits for confirmation on edge-2: edgeguard blocks confirm ::ffff:203.0.113.9 there\n" +
				"2001:db8::/32 waits on none of the 2 nodes alive\n"},
		{"all", fake{stats: keyless, held: admin.FleetHeld{Alive: 3, Nodes: []admin.NodeHeld{holds("edge-2", 12), silent}}}, false, nil, asking +
			"a record waits for confirmation, or for room, on edge-2: edgeguard blocks held there\na record may wait on edge-4 (has not answered): see edgeguard blocks held there\n"},
		{"all, and none", fake{stats: keyless, held: admin.FleetHeld{Alive: 1}}, false, nil, asking + "a record waits on none of the 1 node alive\n"},
		{"no wait", fake{stats: keyless}, true, []string{"203.0.0.0/16"}, unsigned + unknown},
		{"cut off", fake{stats: keyless, err: errors.New("cut off")}, false, []string{"203.0.0.0/16"}, asking + "cut off: " + unknown},
	} {
		var out bytes.Buffer
		Say(t.Context(), &out, &c.node, !c.noWait, c.prefixes...)
		if out.String() != c.want {
			t.Errorf("%s:\n%swant:\n%s", c.name, &out, c.want)
		}
		if asks := strings.HasPrefix(c.want, asking) || c.name == "a key of no use"; asks != (c.node.asked == 1) {
			t.Errorf("%s: asked %d times", c.name, c.node.asked)
		}
	}
}

// What somebody has written into Redis is printed short, and acts on no terminal.
func TestForgedNodes(t *testing.T) {
	node := fake{stats: admin.Stats{Fleet: &admin.Fleet{}}, held: admin.FleetHeld{Alive: 4000}}
	for i := range 4000 {
		node.held.Nodes = append(node.held.Nodes, holds(fmt.Sprint("x\x1b[2J", i), 1, "203.0.0.0/16"), admin.NodeHeld{Name: "y\u202e", State: "z\x07"})
	}
	var out bytes.Buffer
	Say(t.Context(), &out, &node, true, "203.0.0.0/16")
	if !strings.Contains(out.String(), "x?[2J9 and 3,990 more: edgeguard blocks confirm") || out.Len() > 1000 {
		t.Errorf("%d bytes: %q", out.Len(), &out)
	}
	for _, line := range strings.Split(out.String(), "\n") {
		if !safetext.Clean(line) {
			t.Errorf("%q", line)
		}
	}
}
