package fleet

import (
	"slices"
	"strings"
	"sync"
	"time"

	"edgeguard/aggregator"
)

// Which nodes a fleet has is known from their heartbeats. A node reads the whole list at
// times, and in between only what has changed: who came, who went, and who reports something
// else of itself.
//
// A heartbeat counts if it was sent a few seconds ago, by Redis' clock, and later
// than the last one that counted of its node and boot. Any other is passed over:
// what a dead node sent last looks the same as what a thief wrote a second time.

const (
	// Fresh is how old the heartbeat of a node that is alive may be: ten seconds
	// by Redis, which counts whole ones, and as long as it was on its way.
	Fresh = 12 * time.Second
	// kept is how long a node is remembered at least after it was last alive: its
	// name is in the reasons of blocks, and its counts are evidence.
	kept = time.Hour
	// mostNodes bounds what a client that writes into Redis can have a node remember.
	mostNodes = 1 << 15
)

// News is what Redis says of one node and boot.
type News struct {
	Field, Value string
	// Alive says that a heartbeat came within the last ten seconds, as far as
	// Redis knows.
	Alive bool
}

// Verify parses and verifies a heartbeat, and reports whether it counts if it
// is fresh: without a MAC it does not where MACs are required.
type Verify func(field, value string) (h aggregator.Heartbeat, signed, ok bool)

// Roster is the nodes of a fleet. It is safe for concurrent use. Make it with
// [NewRoster].
type Roster struct {
	own  aggregator.Heartbeat // name and boot of this node
	draw func() float64
	kept time.Duration
	// named are the nodes of a replay.
	named map[[8]byte]string

	mu     sync.Mutex // guards the fields below
	nodes  map[string]*rosterNode
	byID   map[[8]byte]*rosterNode
	rhythm rhythm
}

type rosterNode struct {
	aggregator.Heartbeat
	alive    bool
	lastSeen time.Time // when it was last known to be alive, by Redis' clock
}

// NewRoster returns the roster of a node, empty. draw returns random numbers from 0
// to 1.
func NewRoster(name, boot string, draw func() float64) *Roster {
	return &Roster{
		own: aggregator.Heartbeat{Node: name, Boot: boot}, draw: draw, kept: kept,
		nodes: map[string]*rosterNode{}, byID: map[[8]byte]*rosterNode{},
	}
}

// RememberFor has nodes remembered for so long after they were last alive, and for an
// hour at least. It is called before the first Apply.
func (r *Roster) RememberFor(least time.Duration) { r.kept = max(kept, least) }

// Reboot says that this node has another boot.
func (r *Roster) Reboot(boot string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.own.Boot = boot
}

// NamedRoster returns a roster of these nodes, by their IDs, and is never updated by
// heartbeats: a replay's, which adds nodes to names as they come.
func NamedRoster(names map[[8]byte]string) *Roster {
	r := NewRoster("", "", nil)
	r.named = names
	return r
}

// Apply merges what Redis said, and reports whether the nodes that are alive, or
// what they report of themselves, may have changed. now is the caller's clock,
// which never steps.
func (r *Roster) Apply(now time.Time, s *State, verify Verify) (changed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !s.Whole && s.Version < r.rhythm.version {
		return false // an answer that a later one overtook
	}
	r.rhythm.version = s.Version
	listed := make(map[string]bool, len(s.News))
	for _, one := range s.News {
		listed[one.Field] = true
		h, signed, ok := verify(one.Field, one.Value)
		if ok {
			h.Signed = signed
		}
		if !r.merge(s.Now, one, &h, ok, s.Whole) {
			continue
		}
		changed = true
		if one.Alive && h.Node == r.own.Node && h.Boot != r.own.Boot {
			r.rhythm.readBy(now.Add(look)) // two runs of one name, perhaps
		}
	}
	if s.Whole {
		r.drop(s.Now, listed)
		r.rhythm.planNext(now, len(r.alive()), r.draw())
	} else if changed {
		r.rhythm.fewer(r.count())
	}
	return changed || s.Whole
}

// merge applies one piece of news, with its heartbeat if that is ok.
func (r *Roster) merge(now time.Time, one News, h *aggregator.Heartbeat, ok, whole bool) (changed bool) {
	n := r.nodes[one.Field]
	age := now.Sub(h.At)
	fresh := one.Alive && age < Fresh
	// A last one from the future was taken before Redis' clock was set back.
	newer := n == nil || h.At.After(n.At) || (h.Run == n.Run && h.Seq > n.Seq) || n.At.Sub(now) >= Fresh
	switch {
	case ok && newer && age > -Fresh && age < r.kept:
		if n == nil {
			if len(r.nodes) >= mostNodes {
				return false
			}
			n = &rosterNode{}
			r.nodes[one.Field], r.byID[h.ID()] = n, n
		}
		n.Heartbeat, n.lastSeen, n.alive = *h, h.At, fresh
		return true
	case n == nil || !n.alive:
		return false
	case !one.Alive:
		n.leave(now)
		return true
	case whole && now.Sub(n.At).Abs() >= Fresh:
		n.alive = false
		return true
	}
	return false
}

// leave records that a node is no longer alive. The last heartbeat of it that was
// read may be much older: in between only what changes is read.
func (n *rosterNode) leave(now time.Time) {
	if n.alive {
		n.alive, n.lastSeen = false, now
	}
}

// drop ends the nodes that a whole list lacks, and forgets those that were last
// heard of long ago.
func (r *Roster) drop(now time.Time, listed map[string]bool) {
	for field, n := range r.nodes {
		if !listed[field] {
			n.leave(now)
		}
		if !n.alive && now.Sub(n.lastSeen).Abs() >= r.kept {
			delete(r.nodes, field)
			delete(r.byID, n.ID())
		}
	}
}

// Alive returns the newest heartbeat that was read of each node and boot that is
// alive, by their fields.
func (r *Roster) Alive() []aggregator.Heartbeat {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.alive()
}

// count returns how many nodes are alive.
func (r *Roster) count() (n int) {
	for _, one := range r.nodes {
		if one.alive {
			n++
		}
	}
	return n
}

func (r *Roster) alive() []aggregator.Heartbeat {
	var out []aggregator.Heartbeat
	for _, n := range r.nodes {
		if n.alive {
			out = append(out, n.Heartbeat)
		}
	}
	slices.SortFunc(out, func(a, b aggregator.Heartbeat) int { return strings.Compare(a.Field(), b.Field()) })
	return out
}

// Evidence reports whether counts under an ID are those of a node that was
// alive at or after a time, by Redis' clock.
func (r *Roster) Evidence(id [8]byte, since time.Time) bool {
	if r.named[id] != "" {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.byID[id]
	return n != nil && (n.alive || !n.lastSeen.Before(since))
}

// NodeName returns the name of the node that counts under an ID; "" if it is not
// known.
func (r *Roster) NodeName(id [8]byte) string {
	if name := r.named[id]; name != "" {
		return name
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := r.byID[id]; n != nil {
		return n.Node
	}
	return ""
}
