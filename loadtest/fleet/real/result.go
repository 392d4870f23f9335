package real

import (
	"maps"
	"slices"
	"time"
)

// Result is what a run gave. What the processes did is in RealTime: it is another
// one each time, since when a node pushes is drawn by chance.
type Result struct {
	// Missing says why nothing was measured; empty if all was.
	Missing string

	What                               string
	Limit                              uint32
	Nodes, Clients, Requests, Crossing int // Crossing is how many clients cross the limit by the exact count
	Virtual                            Side
	RealTime                           Measured
}

// Side is what is compared: what the fleet on virtual time gave, or the processes.
type Side struct {
	Push, Splits, Watches Count
	// Blocked are the clients that at least one node refuses, Everywhere those that
	// all do.
	Blocked, Everywhere int
	// First is how long after the request that crosses the limit the first node
	// refuses the client, All how long until every node does.
	First, All Spread
}

// Measured is what the processes did.
type Measured struct {
	Side
	Seconds float64 // from the first request to the last push
	// SameBlocks says that each node blocked the same clients as in the model.
	SameBlocks bool
	Compare    []Compared
	RedisCPU   float64 // in ms
	// Late is by how many ms a request came too late, at most: the machine was busy.
	Late  float64
	Costs []Cost
}

// NodesACore is how many nodes with as much traffic each would fill a processor core
// of Redis, by what it spent here. It is low: a Redis that has more to do reads more
// at a time.
func (r *Result) NodesACore() int {
	return int(float64(r.Nodes) * 1000 * r.RealTime.Seconds / max(r.RealTime.RedisCPU, 1e-9))
}

// Spread is a few of many sorted figures.
type Spread struct{ Median, Most float64 }

// spread returns it in milliseconds.
func spread(all []time.Duration) (s Spread) {
	if len(all) == 0 {
		return s
	}
	slices.Sort(all)
	at := func(q float64) float64 { return milliseconds(all[int(q*float64(len(all)-1))]) }
	return Spread{at(0.5), at(1)}
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// Compared is one figure of both.
type Compared struct {
	What    string
	Virtual float64
	Real    float64
	// Percent is by how much the processes differ from the model.
	Percent float64
	// Few says that it is a count of so few that chance alone makes more than [Most].
	Few bool
}

// Most is by how much processes and model may differ, in percent.
const Most = 5

// few is the count below which a figure is told and not judged: its own spread, the
// square root, is more than half of [Most].
const few = 1600

// compare returns the rows of two sides.
func compare(virtual, processes *Side) (rows []Compared) {
	for _, r := range []struct {
		what string
		of   func(*Side) uint64
	}{
		{"push commands", func(s *Side) uint64 { return s.Push.Calls }},
		{"keys pushed", func(s *Side) uint64 { return s.Push.Keys }},
		{"bytes to Redis, of pushes", func(s *Side) uint64 { return s.Push.In }},
		{"bytes from Redis, of pushes", func(s *Side) uint64 { return s.Push.Out }},
		{"sums compared", func(s *Side) uint64 { return s.Push.Compared }},
		{"splits read", func(s *Side) uint64 { return s.Splits.Calls }},
		{"keys put on the watch list", func(s *Side) uint64 { return s.Watches.Calls }},
	} {
		v, p := float64(r.of(virtual)), float64(r.of(processes))
		row := Compared{What: r.what, Virtual: v, Real: p, Few: v < few}
		if v > 0 {
			row.Percent = 100 * (p - v) / v
		}
		rows = append(rows, row)
	}
	return rows
}

// result puts together what a run gave.
func (f *fleet) result(m *measured) *Result {
	s := &f.scenario
	r := &Result{What: s.What, Limit: s.Limit, Nodes: s.Nodes, Clients: m.clients, Requests: m.requests, Crossing: len(m.crossings)}
	t := &r.RealTime
	t.Seconds, t.RedisCPU = m.ended.at.Sub(m.begun.at).Seconds(), milliseconds(m.ended.redis-m.begun.redis)
	counts := m.ended.kinds
	t.Push, t.Splits, t.Watches = counts["push"], counts["split"], counts["xadd"]
	sent := map[uint32]time.Time{}
	for _, one := range m.senders {
		t.Late = max(t.Late, milliseconds(one.latest))
		maps.Copy(sent, one.crossed)
	}
	blocks := map[uint32][]time.Duration{}
	for client := range uint32(m.clients) {
		for _, n := range f.nodes {
			if since, blocked := n.since(prefix(client)); blocked {
				blocks[client] = append(blocks[client], since.Sub(sent[client]))
			}
		}
	}
	t.refuse(blocks, len(f.nodes))
	return r
}

// refuse fills in who was refused, by how long after the crossing request each node did.
func (s *Side) refuse(blocks map[uint32][]time.Duration, nodes int) {
	var first, all []time.Duration
	for _, times := range blocks {
		s.Blocked++
		first = append(first, slices.Min(times))
		if len(times) == nodes {
			s.Everywhere++
			all = append(all, slices.Max(times))
		}
	}
	s.First, s.All = spread(first), spread(all)
}
