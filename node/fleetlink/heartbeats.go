package fleetlink

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"edgeguard/admin"
	"edgeguard/aggregator"
)

const (
	// staleBeats is how old the last list of living nodes may be, and goneNodes
	// how long a node is shown after it left the list, as in `fleet status`.
	staleBeats = 10 * time.Second
	goneNodes  = time.Hour
	// fanOutSpan is how long the longest fan-out is remembered at least; twice
	// that at most while it is asked for.
	fanOutSpan = time.Minute
)

// heartbeats is the last heartbeat of each of the fleet's nodes, and how long
// their blocks were on their way. The zero value is ready. It is safe for
// concurrent use.
type heartbeats struct {
	mu    sync.Mutex          // guards all below
	beats map[string]lastBeat // by their fields
	rules map[string]string   // the digests of the nodes' rules, by name; empty where two differ
	at    time.Time           // of the newest list, local

	// longest is of the span that began at turned, before of the span before it.
	// A link returns its longest once and then begins again, but several clients
	// ask: a screen, a scrape, a balancer.
	longest, before time.Duration
	turned          time.Time
}

// lastBeat is a heartbeat and when its node was last alive, local.
type lastBeat struct {
	aggregator.Heartbeat
	at time.Time
}

// update stores the heartbeats of all nodes that are alive. Runs that have ended
// are removed where their name is alive, and otherwise after an hour: a node
// that crashes again and again does not fill the list.
func (h *heartbeats) update(beats []aggregator.Heartbeat, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	lives := make(map[string]bool, len(beats))
	next := make(map[string]lastBeat, len(beats))
	for _, b := range beats {
		lives[b.Node] = true
		next[b.Field()] = lastBeat{b, now}
	}
	for field, old := range h.beats {
		if !lives[old.Node] && now.Sub(old.at) < goneNodes {
			next[field] = old
		}
	}
	h.beats, h.at, h.rules = next, now, make(map[string]string, len(next))
	for _, b := range next {
		if before, known := h.rules[b.Node]; known && before != b.Rules {
			b.Rules = ""
		}
		h.rules[b.Node] = b.Rules
	}
}

// rulesOf returns the digest of the rules of the node of this name; empty if it is not known.
func (h *heartbeats) rulesOf(node string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.rules[node]
}

// apart returns the names of the nodes in the newest list that are in mode monitor, and of those whose rules
// are others than a node of this version has: each version writes its own digest.
func (h *heartbeats) apart(rules, version string) (monitors, others []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, b := range h.beats {
		if !b.at.Equal(h.at) {
			continue
		}
		if b.Monitor {
			monitors = append(monitors, b.Node)
		}
		if b.Rules != "" && b.Rules != rules && b.Version == version {
			others = append(others, b.Node)
		}
	}
	slices.Sort(monitors)
	slices.Sort(others)
	return slices.Compact(monitors), slices.Compact(others)
}

// nodes returns the nodes by name.
func (h *heartbeats) nodes(now time.Time) []admin.FleetNode {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make([]admin.FleetNode, 0, len(h.beats))
	for _, b := range h.beats {
		out = append(out, admin.FleetNode{
			Name: b.Node, Version: b.Version, Boot: b.Boot, Started: b.Started, LastSeen: b.At, Monitor: b.Monitor,
			Alive: b.at.Equal(h.at) && now.Sub(h.at) < staleBeats,
			Ahead: b.AheadMS / 1000, PushLag: float64(b.PushLagMS) / 1000, List: b.Changes, Digest: b.Digest,
		})
	}
	slices.SortFunc(out, func(a, b admin.FleetNode) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), a.Started.Compare(b.Started), cmp.Compare(a.Boot, b.Boot))
	})
	return out
}

// fanOut adds the longest fan-out since the last call, and returns that of the
// last minutes.
func (h *heartbeats) fanOut(most time.Duration, now time.Time) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.longest = max(h.longest, most)
	longest := max(h.longest, h.before)
	if now.Sub(h.turned) >= fanOutSpan {
		h.before, h.longest, h.turned = h.longest, 0, now
	}
	return longest
}
