package fleet

import (
	"cmp"
	"slices"
	"time"
)

// Simulated is what came of one run. Times are since the scenario's start.
type Simulated struct {
	Requests uint64
	Clients  int
	// Crossed is how many clients had more than the threshold in some window, by the
	// exact count over true time. Caught are those of them that were blocked, Missed
	// those that were not though they went on for longer than two pushes, FalseBlocks the
	// clients that were blocked and never crossed, and Early those that were blocked
	// before they crossed.
	Crossed     int
	Caught      int
	Missed      int
	Early       int
	FalseBlocks int
	// OverAdmitted is how many requests all nodes let pass of clients that had crossed:
	// from the request that crossed on. MostOver is the most of one client.
	OverAdmitted uint64
	MostOver     uint64
	// RefusedEarly is how many requests of clients that had not crossed yet, or never
	// did, were refused.
	RefusedEarly uint64
	// ToBlock are the times from crossing until every node refuses, sorted; 0 where
	// the block was there before.
	ToBlock []time.Duration
	// Blocks are who refused whom from when on, by client and node: of the clients
	// that were blocked.
	Blocks []Refusal
	// Loads are what Redis was asked, by function.
	Loads []Load
	// Full and Reconciled are how many of the pushed keys had all slots, or compared
	// a sum only.
	Full       uint64
	Reconciled uint64
	// Pushed is how many clients were pushed at all.
	Pushed int
	Lasted time.Duration
}

// Refusal is from when on a node refuses a client.
type Refusal struct {
	Client uint32
	Node   int
	At     time.Duration
}

// Load is what one kind of command brings to Redis.
type Load struct {
	Function string
	Calls    uint64
	Keys     uint64
	In       uint64 // of whole commands, in RESP
	Out      uint64 // of whole answers
	// CPU is computed, see [Costs].
	CPU time.Duration
}

// Load returns what one kind of command brought.
func (s *Simulated) Load(function string) Load {
	for _, l := range s.Loads {
		if l.Function == function {
			return l
		}
	}
	return Load{Function: function}
}

// All returns the sum of all kinds.
func (s *Simulated) All() (sum Load) {
	sum.Function = "all"
	for _, l := range s.Loads {
		sum.Calls, sum.Keys, sum.In, sum.Out, sum.CPU = sum.Calls+l.Calls, sum.Keys+l.Keys, sum.In+l.In, sum.Out+l.Out, sum.CPU+l.CPU
	}
	return sum
}

// Core is which part of a processor core Redis takes.
func (s *Simulated) Core() float64 {
	return s.All().CPU.Seconds() / max(s.Lasted.Seconds(), 1e-9)
}

// quantile is of the times until every node refuses; 0 without any.
func (s *Simulated) quantile(q float64) time.Duration {
	if len(s.ToBlock) == 0 {
		return 0
	}
	return s.ToBlock[min(len(s.ToBlock)-1, int(q*float64(len(s.ToBlock))))]
}

// judge fills in what is known of each client at the end.
func (m *simulation) judge(lasted time.Duration) *Simulated {
	out := &m.out
	out.Lasted = lasted
	for i := range m.clients {
		c := &m.clients[i]
		if c.requests == 0 {
			continue
		}
		out.Clients++
		m.judgeOne(uint32(i), c)
	}
	slices.Sort(out.ToBlock)
	slices.SortFunc(out.Blocks, func(a, b Refusal) int { return cmp.Or(cmp.Compare(a.Client, b.Client), cmp.Compare(a.Node, b.Node)) })
	for _, function := range functions {
		if l := m.loads[function]; l != nil {
			out.Loads = append(out.Loads, *l)
		}
	}
	return out
}

func (m *simulation) judgeOne(client uint32, c *client) {
	out := &m.out
	if c.pushed {
		out.Pushed++
	}
	if !c.isBlocked() {
		if c.crossed >= 0 {
			out.Crossed++
			out.OverAdmitted, out.MostOver = out.OverAdmitted+c.over, max(out.MostOver, c.over)
			if c.overs > 2*m.setup.Push+m.setup.FanOut {
				out.Missed++
			}
		}
		return
	}
	last := time.Duration(0)
	for i := range m.setup.Nodes {
		at := c.refusedFrom(i)
		out.Blocks = append(out.Blocks, Refusal{client, i, at})
		last = max(last, at)
	}
	if c.crossed < 0 {
		out.FalseBlocks++
		return
	}
	out.Crossed, out.Caught = out.Crossed+1, out.Caught+1
	out.OverAdmitted, out.MostOver = out.OverAdmitted+c.over, max(out.MostOver, c.over)
	if c.first() < c.crossed {
		out.Early++
	}
	out.ToBlock = append(out.ToBlock, max(last-c.crossed, 0))
}
