package tools

import (
	"cmp"
	"slices"
	"time"
)

// Judged is what a program did to the scenario's clients, beside the exact log: a client
// crosses the limit with the first request that has more than the limit in the window that
// ends with it.
type Judged struct {
	Requests int
	// Over is how many clients crossed the limit. Of them, Caught were refused, Early ones
	// before they crossed.
	Over   int
	Caught int
	Early  int
	// Visitors are all others. Of them, Hit were refused, HitRequests times.
	Visitors    int
	Hit         int
	HitRequests int
	// Passed is how many requests passed of clients that had crossed the limit, that one
	// included.
	Passed int
	// Failed is how many answers were neither a pass nor a refusal.
	Failed int
	// Block is the time from sending the request that crosses to the first refusal, in
	// seconds, of the clients that were refused then.
	Block Spread
	// Blocks are all of these, in order.
	Blocks []float64
}

// seen is what is known of one client.
type seen struct {
	recent  []time.Duration // of the window
	over    bool
	crossed time.Duration
	refused int
	early   bool
	blocked time.Duration // from the crossing to the first refusal; 0: none yet
}

// judge compares what was answered with the exact log of what was sent.
func judge(r rule, all []answered) *Judged {
	slices.SortStableFunc(all, func(a, b answered) int { return cmp.Compare(a.sent, b.sent) })
	clients := map[uint32]*seen{}
	j := &Judged{Requests: len(all)}
	for _, a := range all {
		c := clients[a.client]
		if c == nil {
			c = new(seen)
			clients[a.client] = c
		}
		c.see(r, a)
		switch {
		case a.status == passes && c.over:
			j.Passed++
		case a.status != passes && a.status != refuses:
			j.Failed++
		}
	}
	for _, c := range clients {
		j.add(c)
	}
	slices.Sort(j.Blocks)
	j.Block = spread(j.Blocks)
	return j
}

// The statuses of a pass and of a refusal.
const passes, refuses = 200, 429

// see adds a request.
func (c *seen) see(r rule, a answered) {
	if !c.over {
		for len(c.recent) > 0 && c.recent[0] <= a.sent-r.window {
			c.recent = c.recent[1:]
		}
		c.recent = append(c.recent, a.sent)
		if c.over = len(c.recent) > int(r.limit); c.over {
			c.crossed, c.early = a.sent, c.refused > 0
		}
	}
	if a.status == refuses {
		c.refused++
		if c.over && !c.early && c.blocked == 0 {
			c.blocked = a.ended - c.crossed
		}
	}
}

// add adds a client.
func (j *Judged) add(c *seen) {
	if !c.over {
		j.Visitors++
		if c.refused > 0 {
			j.Hit++
			j.HitRequests += c.refused
		}
		return
	}
	j.Over++
	if c.refused > 0 {
		j.Caught++
	}
	if c.early {
		j.Early++
	}
	if c.blocked > 0 {
		j.Blocks = append(j.Blocks, c.blocked.Seconds())
	}
}
