package detector

import (
	"math"
	"net/netip"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/shard"
)

// Increase is a number of requests of one address that another program counted for a
// meter: nothing else is known of them.
type Increase struct {
	// Addr is the client's, of IPv6 the first of its /64. Where another of the /64 is
	// allowed or protected, nothing of it is counted: that one's requests are among them.
	Addr netip.Addr
	// Time is the earliest moment at which they can have come.
	Time time.Time
	// Meter is the index of the meter: one of requests or responses whose key is of the
	// address alone, and that counts events. Cost is what each request adds to it.
	Meter int
	Cost  uint16
	N     uint32
}

// Decided is what became of some requests. Those that passed are the rest. In mode monitor the
// denied are those that would have been.
type Decided struct {
	Requests, Denied, Shadowed uint32
	DeniedBy, ShadowedBy       string // rules
	// Late says that a meter did not count them as too old, Lost how many of them no meter
	// counted, and LateSteps how many increases' requests that makes in all.
	Late      bool
	Lost      uint32
	LateSteps uint64
}

// DecideIncreases counts increases at the instant now, and decides them as if so many
// verified events had come one after the other: the same counts, crossings and blocks
// come of it. Increases that follow each other with one address and one time are of the
// same requests, which several meters count: in the statistics they are as many as the
// greatest says. proxied is [edgeguard.Event.Proxied] of all. ruled is called for those
// of one address and time that were not all counted and passed.
func (d *Detector) DecideIncreases(now time.Time, proxied bool, increases []Increase, ruled func(Decided)) {
	event := edgeguard.Event{Kind: httpKinds, Verified: httpKinds, Proxied: proxied, Named: true}
	var c decision
	for len(increases) > 0 {
		n := sameRequests(increases)
		event.Time, event.Addr = increases[0].Time, increases[0].Addr
		event.Again = event.Time.UnixNano() < d.resumed.Load() // of what a process before read, the time is the same
		if r := c.decideSame(d, now, &event, increases[:n]); r.Denied+r.Shadowed > 0 || r.Late {
			ruled(r)
		}
		increases = increases[n:]
	}
}

// httpKinds are the kinds of what increases count: who sent it has completed a
// handshake with the server that counts.
const httpKinds = edgeguard.KindRequest | edgeguard.KindResponse

// sameRequests returns how many increases from the first on are of the same requests.
func sameRequests(increases []Increase) int {
	n := 1
	for n < len(increases) && increases[n].Addr == increases[0].Addr && increases[n].Time.Equal(increases[0].Time) {
		n++
	}
	return n
}

// decideSame decides increases of the same requests.
func (c *decision) decideSame(d *Detector, now time.Time, event *edgeguard.Event, increases []Increase) (all Decided) {
	counted := uint32(0)
	for i := range increases {
		r := c.decideIncrease(d, now, event, &increases[i])
		if r.Late {
			all.LateSteps += uint64(r.Requests)
		} else {
			counted = max(counted, r.Requests)
		}
		all.Requests, all.Late = max(all.Requests, r.Requests), all.Late || r.Late
		if r.Denied > all.Denied {
			all.Denied, all.DeniedBy = r.Denied, r.DeniedBy
		}
		if r.Shadowed > all.Shadowed {
			all.Shadowed, all.ShadowedBy = r.Shadowed, r.ShadowedBy
		}
	}
	all.Lost = all.Requests - counted
	all.Shadowed = min(all.Shadowed, all.Requests-all.Denied)
	if all.Requests > 0 {
		d.statistics.noteDecided(c, &all)
	}
	return all
}

// decideIncrease decides one increase part by part: each crossing is an event of its
// own, and between two crossings all events have one verdict.
func (c *decision) decideIncrease(d *Detector, now time.Time, event *edgeguard.Event, in *Increase) Decided {
	r := Decided{Requests: in.N}
	for left := in.N; left > 0; left -= c.events {
		*c = decision{}
		c.begin(d, now, event, forCounter)
		if c.standing == blocklist.None && in.Addr.Is6() && d.config.List.HasSpared(netip.PrefixFrom(in.Addr, 64)) {
			c.standing = blocklist.Protected
		}
		c.events = left
		c.fails, c.scope = true, d.outages.scopeOf(event) // what an excusing meter counts there, a site that fails may have made
		if !c.isExempt() {
			if left > 1 {
				c.events = min(left, max(c.eventsToNextLimit(in, left == in.N), 1))
			}
			c.countIncrease(in)
			c.judgeCounts()
		}
		r.Late = c.late
		switch v := c.finishVerdict(); {
		case v.Action == edgeguard.ActionDeny || v.Unenforced:
			r.Denied, r.DeniedBy = r.Denied+c.events, v.Rule
		case v.Action == edgeguard.ActionShadow:
			r.Shadowed, r.ShadowedBy = r.Shadowed+c.events, v.Rule
		}
	}
	return r
}

// countIncrease counts c.events events in the meter.
func (c *counting) countIncrease(in *Increase) {
	m, question := &c.d.meters[in.Meter], c.d.questions.borrow()
	question.op = shard.Op{Addr: in.Addr, Now: m.slotAt(c.nowSec), Slot: m.slotAt(c.eventSec),
		Cost: uint16(min(uint64(in.Cost)*uint64(c.events), math.MaxUint16))} // a slot has room for no more
	if c.event.Again && m.fleet {
		question.op.Slot = m.unreported(question.op.Slot)
	}
	n := c.readAnswer(m.proven.Add(&question.op), question.op.Cost)
	if m.fleet {
		c.d.askFleet(m, &question.op, c.event, &n)
	}
	c.noteCount(m, n)
	c.d.questions.pool.Put(question)
}

// eventsToNextLimit returns how many events can be counted before a count passes another limit. At
// the first part it is 0 where a count is over one already: that event may block.
func (o *occasion) eventsToNextLimit(in *Increase, first bool) uint32 {
	m, question := &o.d.meters[in.Meter], o.d.questions.borrow()
	slot := m.slotAt(o.nowSec)
	own := count{count: m.proven.Count(in.Addr, "", slot), cost: in.Cost}
	if m.fleet {
		question.op = shard.Op{Addr: in.Addr, Now: slot, Slot: slot}
		o.d.askFleet(m, &question.op, o.event, &own)
	}
	o.d.questions.pool.Put(question)
	least := uint32(math.MaxUint32)
	until := func(count, limit uint32) {
		switch {
		case count <= limit:
			least = min(least, (limit-count)/uint32(in.Cost))
		case first:
			least = 0
		}
	}
	for _, i := range m.rules {
		r := &o.d.rules[i]
		seen := own.inScope(r.Scope).count
		until(seen, r.Limit)
		for k := range r.Candidates {
			until(seen, r.Candidates[k].Limit)
		}
		if own.count >= m.share || !in.Addr.Is6() {
			continue // it adds nothing to the networks around it
		}
		for k := range r.Widths {
			until(m.wide[k].Count(in.Addr, "", slot), r.Widths[k].Limit)
		}
	}
	return least
}

// noteDecided counts requests that another program counted. Their increases were decided
// last in c.
func (s *statistics) noteDecided(c *decision, r *Decided) {
	n := uint64(r.Requests)
	seen := s.actions[edgeguard.ActionPass].Add(n - uint64(r.Denied) - uint64(r.Shadowed))
	refused := edgeguard.ActionDeny
	if c.d.config.Monitor {
		refused = edgeguard.ActionShadow
	}
	s.actions[refused].Add(uint64(r.Denied))
	s.actions[edgeguard.ActionShadow].Add(uint64(r.Shadowed))
	if r.Late {
		s.late.Add(n)
	}
	if c.early {
		s.early.Add(n)
	}
	spared := c.isExempt()
	if spared {
		s.spared.Add(n)
	}
	if sampled := sampledOf(seen, n); sampled > 0 {
		s.crowds.NoteRequests(c.nowSec, c.event.Addr, spared, sampled)
	}
}
