package detector

import (
	"strings"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
)

// The reasons of verdicts and blocks that a rule gives.
const (
	overLimit = "over limit"
	fleetLost = "fleet lost"
)

// decision is one event on its way to its verdict.
type decision struct {
	d     *Detector
	event *edgeguard.Event
	now   time.Time

	moment
	early, late bool
	inline      bool // somebody waits for the verdict and may be told when to come again

	standing blocklist.Standing
	block    *edgeguard.Block // the standing block, if there is one
	made     bool             // this event made or extended a block

	// What the rules said, the strongest so far.
	action       edgeguard.Action
	closed       bool // because the fleet is lost, whatever the count
	rule         int
	count, limit uint32
	retryAfter   time.Duration
}

// open begins a decision: it fixes the seconds and asks the blocklist.
func (c *decision) open(d *Detector, now time.Time, event *edgeguard.Event) {
	*c = decision{d: d, event: event, now: now}
	c.moment, c.early = newMoment(now, event.Time)
}

// look asks the blocklist how the address stands.
func (c *decision) look() {
	c.standing, c.block = c.d.config.List.Find(c.now, c.event.Addr)
}

// spared reports whether the address is allowed or protected: then no rule
// looks at it and nothing is counted.
func (c *decision) spared() bool { return isSpared(c.standing) }

func isSpared(s blocklist.Standing) bool {
	return s == blocklist.Allowed || s == blocklist.Protected
}

// judge compares a count of one meter with the limits of its rules.
func (c *decision) judge(meter int, n count) {
	m := &c.d.meters[meter]
	if hear := c.d.config.Counted; hear != nil {
		hear(meter, c.event, n.count, uint32(n.cost))
	}
	if m.loses && c.d.lost.Load() {
		c.close(m)
	}
	for _, i := range m.rules {
		r, seen := &c.d.rules[i], n
		if n.rest > 0 {
			seen = n.as(r.Scope)
		}
		r.weigh(seen)
		if seen.count > r.Limit {
			c.over(m, i, seen)
		}
	}
}

// over acts on a count that is over the limit of rule i.
func (c *decision) over(m *meter, i int, n count) {
	r := &c.d.rules[i]
	crossed := n.crossed(r.Limit)
	if c.event.Verified&m.Kind == 0 {
		if crossed {
			c.report(m, i, n, edgeguard.ActionAlarm, time.Time{})
		}
		return
	}
	crossed = crossed && c.first(m, i)
	action := c.d.action(r)
	if action == edgeguard.ActionBlock {
		c.blockKey(m, i, n, crossed)
		return
	}
	if crossed {
		c.report(m, i, n, action, time.Time{})
	}
	if action > c.action {
		c.action, c.rule, c.count, c.limit = action, i, n.count, r.Limit
		if c.inline && action == edgeguard.ActionDeny {
			c.retryAfter = m.retryAfter(c, r.Limit-min(r.Limit, n.rest))
		}
	}
}

// blockKey blocks the key's prefix, unless a block stands already: that one is
// not counted as another, and only a while_over rule extends its own. A prefix
// that the list refuses (a protected address, 0.0.0.0) raises an alarm instead.
func (c *decision) blockKey(m *meter, i int, n count, crossed bool) {
	list := c.d.config.List
	if c.standing != blocklist.Blocked { // another goroutine may have been first
		c.standing, c.block = list.Find(c.now, c.event.Addr)
	}
	r := &c.d.rules[i]
	if c.standing == blocklist.Blocked {
		if r.WhileOver {
			c.extend(m, i)
		}
		return
	}
	until, changed, err := c.d.block(c.now, r, edgeguard.Block{
		Prefix: m.Key(c.event.Addr, "").Prefix, Reason: n.reason(), Origin: c.node(), Proxied: c.event.Proxied, Count: n.count,
	})
	switch {
	case err != nil:
		if crossed {
			c.report(m, i, n, edgeguard.ActionAlarm, time.Time{})
		}
		return
	case changed:
		c.made = true
		c.report(m, i, n, edgeguard.ActionBlock, until)
	}
	c.standing, c.block = list.Find(c.now, c.event.Addr)
}

// block merges a block that rule r makes, for as long as its steps have it, and
// reports until when. The rule's part of the block is filled in here.
func (d *Detector) block(now time.Time, r *rule, b edgeguard.Block) (until time.Time, changed bool, err error) {
	before := 0
	if len(r.Escalate) > 0 {
		before = d.steps.before(r.Name, b.Prefix, now)
	}
	b.Rule, b.Limit = r.Name, r.Limit
	b.Since, b.Until = now, now.Add(r.Blocked(before))
	b, changed, err = d.config.List.Add(b, false, now)
	if changed && err == nil && len(r.Escalate) > 0 {
		d.steps.note(Step{Rule: r.Name, Prefix: b.Prefix, Blocks: before + 1, Until: b.Until})
	}
	return b.Until, changed, err
}

// report tells of a crossing.
func (c *decision) report(m *meter, i int, n count, action edgeguard.Action, until time.Time) {
	hear := c.d.config.Crossed
	if hear == nil {
		return
	}
	r := &c.d.rules[i]
	var buf [attributesSize]byte
	with, _ := m.With(c.event, buf[:0])
	hear(edgeguard.Crossing{
		Time: c.now, Node: strings.Clone(c.node()), Rule: r.Name, Key: m.Key(c.event.Addr, string(with)),
		Action: action, Count: n.count, Limit: r.Limit, Threshold: r.Threshold, Until: until, Fleet: n.rest > 0,
	})
}

// node is the node that saw the event.
func (c *decision) node() string {
	if c.event.Node != "" {
		return strings.Clone(c.event.Node)
	}
	return c.d.config.Node
}

// verdict gives the verdict as the mode has it.
func (c *decision) verdict() edgeguard.Verdict {
	v := c.strongest()
	if c.d.config.Monitor && v.Action == edgeguard.ActionDeny {
		v.Action = edgeguard.ActionShadow
	}
	return v
}

// strongest gives the verdict before the mode has its say: a standing block
// goes before what a rule says of this event alone.
func (c *decision) strongest() edgeguard.Verdict {
	switch {
	case c.standing == blocklist.Allowed:
		return edgeguard.Verdict{Reason: "allowlist"}
	case c.standing == blocklist.Protected:
		return edgeguard.Verdict{Reason: "protected"}
	case c.standing == blocklist.Blocked:
		return edgeguard.Verdict{Action: edgeguard.ActionDeny, Rule: c.block.Rule, Reason: "blocked",
			Count: c.block.Count, Limit: c.block.Limit, RetryAfter: c.block.Until.Sub(c.now)}
	case c.closed:
		return edgeguard.Verdict{Action: c.action, Rule: c.d.rules[c.rule].Name, Reason: fleetLost}
	case c.action != edgeguard.ActionPass:
		return edgeguard.Verdict{Action: c.action, Rule: c.d.rules[c.rule].Name, Reason: overLimit,
			Count: c.count, Limit: c.limit, RetryAfter: c.retryAfter}
	}
	return edgeguard.Verdict{}
}
