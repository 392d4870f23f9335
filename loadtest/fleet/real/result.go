package real

import (
	"cmp"
	"slices"
	"time"
)

// Result is what a run gave. What the processes did is in RealTime: it is another
// one each time, since when a node pushes is drawn by chance.
type Result struct {
	// Missing says why nothing was measured; empty if all was.
	Missing string `json:"missing,omitempty"`

	Scenario string `json:"scenario"`
	What     string `json:"what"`
	Limit    uint32 `json:"limit"`
	Nodes    int    `json:"nodes"`
	Clients  int    `json:"clients"`
	Requests int    `json:"requests"`
	// Crossing is how many clients cross the limit by the exact count.
	Crossing int      `json:"crossing"`
	Virtual  Side     `json:"virtual"`
	RealTime Measured `json:"real_time"`
}

// Side is what is compared: what the fleet on virtual time gave, or the processes.
type Side struct {
	Push    Count `json:"push"`
	Splits  Count `json:"splits"`
	Watches Count `json:"watches"`
	// Blocked are the clients that at least one node refuses, Everywhere those that
	// all do.
	Blocked    int `json:"blocked"`
	Everywhere int `json:"everywhere"`
	// First is how long after the request that crosses the limit the first node
	// refuses the client, All how long until every node does.
	First Spread `json:"first_time_ms"`
	All   Spread `json:"all_time_ms"`
}

// Measured is what the processes did.
type Measured struct {
	Side
	Seconds float64 `json:"seconds"` // from the first request to the last push
	// SameBlocks says that each node blocked the same clients as in the model.
	SameBlocks bool       `json:"same_blocks"`
	Compare    []Compared `json:"compare"`
	// Kinds are all commands of that time, Idle those of as many nodes that have
	// nothing to say, in IdleSeconds.
	Kinds       []Tally `json:"kinds"`
	Idle        []Tally `json:"idle"`
	IdleSeconds float64 `json:"idle_seconds"`
	// In and Out are all bytes by Redis' own count.
	In  uint64 `json:"in_bytes"`
	Out uint64 `json:"out_bytes"`
	// Commands are the calls by INFO commandstats: those that a function makes are
	// among them.
	Commands map[string]uint64 `json:"commands"`
	RedisCPU float64           `json:"redis_cpu_ms"`
	IdleCPU  float64           `json:"redis_idle_cpu_ms"` // in IdleSeconds
	NodeCPU  []float64         `json:"node_cpu_ms"`
	// Late is by how much a request came too late, at most: the machine was busy.
	Late   float64   `json:"late_time_ms"`
	Blocks []Blocked `json:"blocks"`
	Costs  []Cost    `json:"costs,omitempty"`
	Crowds []Crowd   `json:"crowds,omitempty"`
}

// NodesACore is how many nodes with as much traffic each would fill a processor core
// of Redis, by what it spent here. It is low: a Redis that has more to do reads more
// at a time.
func (t *Measured) NodesACore() int {
	return int(float64(len(t.NodeCPU)) * 1000 * t.Seconds / max(t.RedisCPU, 1e-9))
}

// Blocked is one client that was blocked.
type Blocked struct {
	Client uint32 `json:"client"`
	// After is how long after the crossing request each node refused it, in ms;
	// negative where it did before that request was answered, and null where never.
	After []*float64 `json:"after_time_ms"`
}

// Spread is a few of many sorted figures.
type Spread struct {
	Median float64 `json:"median"`
	P90    float64 `json:"p90"`
	Most   float64 `json:"most"`
}

// spread returns it in milliseconds.
func spread(all []time.Duration) (s Spread) {
	if len(all) == 0 {
		return s
	}
	slices.Sort(all)
	at := func(q float64) float64 { return milliseconds(all[int(q*float64(len(all)-1))]) }
	return Spread{at(0.5), at(0.9), at(1)}
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// Compared is one figure of both.
type Compared struct {
	What    string  `json:"what"`
	Virtual float64 `json:"virtual"`
	Real    float64 `json:"real"`
	// Percent is by how much the processes differ from the model.
	Percent float64 `json:"percent"`
	// Few says that it is a count of so few that chance alone makes more than [Most].
	Few bool `json:"few"`
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
	r := &Result{Scenario: s.Name, What: s.What, Limit: s.Limit, Nodes: s.Nodes, Clients: m.clients, Requests: m.requests, Crossing: len(m.crossings)}
	t := &r.RealTime
	t.Seconds, t.IdleSeconds = m.ended.at.Sub(m.begun.at).Seconds(), m.begun.at.Sub(m.before.at).Seconds()
	t.In, t.Out = m.ended.in-m.begun.in, m.ended.out-m.begun.out
	t.RedisCPU, t.IdleCPU = milliseconds(m.ended.redis-m.begun.redis), milliseconds(m.begun.redis-m.before.redis)
	counts := m.ended.beyond(m.begun)
	t.Kinds, t.Idle = tallies(counts), tallies(m.begun.beyond(m.before))
	t.Push, t.Splits, t.Watches = counts["push"], counts["split"], counts["xadd"]
	t.Commands = map[string]uint64{}
	for name, calls := range m.ended.commands {
		if n := calls - m.begun.commands[name]; n > 0 {
			t.Commands[name] = n
		}
	}
	for i, spent := range m.ended.nodes {
		t.NodeCPU = append(t.NodeCPU, milliseconds(spent-m.begun.nodes[i]))
	}
	for _, one := range m.senders {
		t.Late = max(t.Late, milliseconds(one.latest))
	}
	f.blocks(m, t)
	return r
}

// blocks tells who was blocked, and when.
func (f *fleet) blocks(m *measured, t *Measured) {
	sent := map[uint32]time.Time{}
	for _, one := range m.senders {
		for client, at := range one.crossed {
			sent[client] = at
		}
	}
	var first, all []time.Duration
	for client := range uint32(m.clients) {
		b, some, everywhere := Blocked{Client: client}, false, true
		soonest, latest := time.Duration(1<<62), time.Duration(-1<<62)
		for _, n := range f.nodes {
			since, blocked := n.since(prefix(client))
			some, everywhere = some || blocked, everywhere && blocked
			if !blocked {
				b.After = append(b.After, nil)
				continue
			}
			after := since.Sub(sent[client])
			soonest, latest = min(soonest, after), max(latest, after)
			ms := milliseconds(after)
			b.After = append(b.After, &ms)
		}
		if !some {
			continue
		}
		t.Blocks = append(t.Blocks, b)
		t.Blocked++
		first = append(first, soonest)
		if everywhere {
			t.Everywhere++
			all = append(all, latest)
		}
	}
	t.First, t.All = spread(first), spread(all)
}

// beyond returns what the taps counted after another reading.
func (g *gauge) beyond(before gauge) map[string]Count {
	counts := map[string]Count{}
	for kind, c := range g.kinds {
		c.add(before.kinds[kind], ^uint64(0))
		if c != (Count{}) {
			counts[kind] = c
		}
	}
	return counts
}

// Tally is what was counted of one kind of command.
type Tally struct {
	Kind string `json:"kind"`
	Count
}

// tallies sorts by bytes, the most first.
func tallies(counts map[string]Count) (all []Tally) {
	for kind, c := range counts {
		all = append(all, Tally{kind, c})
	}
	slices.SortFunc(all, func(a, b Tally) int { return cmp.Or(cmp.Compare(b.In+b.Out, a.In+a.Out), cmp.Compare(a.Kind, b.Kind)) })
	return all
}
