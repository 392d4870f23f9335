package fleetlink

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"edgeguard/admin"
	"edgeguard/aggregator"
	"edgeguard/aggregator/fleet"
	"edgeguard/internal/sleep"
)

// A [heldAsker] tells which nodes hold a record. It sends nothing: each node says it in its
// heartbeats, and the question waits for those that were sent after the change that it is
// about was published.

const (
	// settle is how long a change that was just made takes to be published, and
	// again the time between two looks. Nodes send a heartbeat every two seconds:
	// patience is enough for two of them, so for one that is lost.
	settle, again, patience = 500 * time.Millisecond, 300 * time.Millisecond, 6 * time.Second
	// shared is how old a look may be that serves another question as well: so
	// many that ask cost Redis no more than one.
	shared = again / 2
	// mostNodes bounds an answer: whoever writes heartbeats into Redis makes it no
	// longer.
	mostNodes = 4096
)

// errUnsent is why nothing is known yet of a change.
var errUnsent = errors.New("this node's changes are still to be published")

// heldAsker asks the nodes. It is safe for concurrent use.
type heldAsker struct {
	// Look returns what Redis has of the nodes now.
	Look func(context.Context) (fleet.Look, error)

	mu   sync.Mutex // guards the fields below, and has one look at a time
	last fleet.Look
	at   time.Time
}

// Ask returns what the nodes but the named one hold, as soon as each has sent a
// heartbeat since that says it of the list as it is now; at the latest after six
// seconds, with those that have not.
func (a *heldAsker) Ask(ctx context.Context, own string) (held admin.FleetHeld, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var from *fleet.Look
	for wait, all := settle, false; !all && sleep.For(ctx, wait); wait = again {
		look, err := a.look(ctx)
		switch {
		case err != nil && ctx.Err() == nil:
			return held, err
		case err != nil || from == nil && look.Unsent:
			continue
		case from == nil:
			from = &look
		}
		held, all = judge(&look, own, from)
	}
	if from == nil {
		return held, errUnsent
	}
	return held, nil
}

// look returns a new look, or one that another question has just taken.
func (a *heldAsker) look(ctx context.Context) (fleet.Look, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.at.IsZero() && time.Since(a.at) < shared {
		return a.last, nil
	}
	look, err := a.Look(ctx)
	if err == nil {
		a.last, a.at = look, time.Now()
	}
	return look, err
}

// judge returns what the nodes but the named one say in a look, and whether all say
// it of the list as it was in the look from, or a later one.
func judge(look *fleet.Look, own string, from *fleet.Look) (held admin.FleetHeld, all bool) {
	nodes := map[string]admin.NodeHeld{}
	for i := range look.Alive {
		if h := &look.Alive[i]; h.Node != own {
			one, known := nodes[h.Node]
			if says := said(h, from); !known || rank(&says) > rank(&one) {
				nodes[h.Node] = says
			}
		}
	}
	held, all = admin.FleetHeld{Alive: len(nodes) + 1, Nodes: []admin.NodeHeld{}}, true
	for _, n := range nodes {
		all = all && n.State != admin.NodeSilent
		if n.State != admin.NodeHolds || n.Held > 0 {
			held.Nodes = append(held.Nodes, n)
		}
	}
	slices.SortFunc(held.Nodes, func(a, b admin.NodeHeld) int { return cmp.Compare(a.Name, b.Name) })
	held.Nodes = held.Nodes[:min(len(held.Nodes), mostNodes)]
	return held, all
}

// said returns what one heartbeat says. One that is of an earlier list, or names
// none, says nothing: while a node reads the list anew, it names none.
func said(h *aggregator.Heartbeat, from *fleet.Look) admin.NodeHeld {
	n := admin.NodeHeld{Name: h.Node, State: admin.NodeSilent}
	if h.Held != nil && h.Changes >= from.Changes && h.At.After(from.Now) {
		n.State, n.Held, n.Waits = admin.NodeHolds, *h.Held, h.Waits
	}
	return n
}

// rank orders what two processes of one name say: that which holds something, then
// one that says anything. One that was killed and started again is alive twice for a
// moment.
func rank(n *admin.NodeHeld) int {
	switch {
	case n.State == admin.NodeHolds && n.Held > 0:
		return 2
	case n.State == admin.NodeHolds:
		return 1
	}
	return 0
}
