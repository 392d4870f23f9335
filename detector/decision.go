package detector

import (
	"time"

	"edgeguard"
	"edgeguard/blocklist"
)

// decision is one event on its way to its verdict: what it counts for, and what the rules
// say of that.
type decision struct {
	counting
	ruling
}

// begin begins the zero decision: it fixes the seconds, and asks the lists. It sets
// field by field: a literal would be made beside it and copied.
func (c *decision) begin(d *Detector, now time.Time, event *edgeguard.Event, who audience) {
	c.d, c.event, c.now, c.events, c.audience = d, event, now, 1, who
	c.moment, c.early = newMoment(now, event.Time)
	d.config.Doors.NoteClient(event, c.nowSec)
	if !d.listless() {
		c.askLists()
	}
	c.ours, c.unknown = d.turnedAway(now, c.moment, event)
	if d.outages != nil && !c.isExempt() {
		if a := answerOf(event); a != noAnswer {
			c.watchAnswer(a)
		}
	}
}

// judgeCounts compares the counts with the limits of the rules, in the order of the
// config; of one rule the key before the networks around it.
func (c *decision) judgeCounts() {
	switch c.over.n {
	case 0:
	case 1: // nearly always
		n := &c.over.first[0]
		for _, i := range c.d.meters[n.meter].rules {
			c.compareCount(i, n)
		}
	default:
		for i := range c.d.rules {
			m := c.d.rules[i].Meter
			for width := range 1 + len(c.d.meters[m].wide) {
				if n := c.over.find(m, width); n != nil {
					c.compareCount(i, n)
				}
			}
		}
	}
}

// compareCount compares a count with the limit of rule i.
func (c *decision) compareCount(i int, n *overCount) {
	r := &c.d.rules[i]
	m := &c.d.meters[r.Meter]
	if n.width > 0 {
		c.compareWideCount(m, i, int(n.width)-1, n.count)
		return
	}
	if m.loses && c.d.lost.Load() && c.isDeniedWithoutFleet(m, r) {
		c.denyWithoutFleet(i)
	}
	seen := n.count
	if seen.rest > 0 {
		seen = seen.inScope(r.Scope)
	}
	r.countCandidates(seen, c.events)
	if m.Everybody && seen.count >= r.near {
		c.gather(m, r, seen)
	}
	if seen.count <= r.Limit {
		if seen.count >= r.near {
			c.sampleNear(m, r, seen)
		}
		return
	}
	if crossed := seen.crossed(r.Limit); crossed || !c.staysBlocked(r) {
		c.overLimit(m, &excess{count: seen, rule: i, limit: r.Limit, crossed: crossed, prefix: m.Key(c.event.Addr, "").Prefix})
	}
}

// overLimit acts on a count that is over the limit of a rule.
func (c *decision) overLimit(m *meter, x *excess) {
	r := &c.d.rules[x.rule]
	if c.event.Verified&m.Kind == 0 {
		if x.crossed {
			x.reportCrossing(&c.occasion, m, edgeguard.Crossing{Action: edgeguard.ActionAlarm})
		}
		return
	}
	x.news = x.crossed && x.isNews(&c.occasion, m)
	action := c.actionOf(r)
	if x.width != nil {
		action = min(action, x.width.Action)
	}
	if action == edgeguard.ActionBlock {
		c.blockFor(m, x)
		return
	}
	if x.news {
		x.reportCrossing(&c.occasion, m, edgeguard.Crossing{Action: action})
	}
	if action >= edgeguard.ActionShadow && !r.asked { // of a recorded answer: its request is refused, or the next
		x.count.count = m.TopCount(x.count.count)
		c.strengthen(action, x)
	}
	if action == edgeguard.ActionDeny {
		c.noteDenial(m, r, x)
	}
}

// noteDenial notes that a rule denies the event for a count: for the watch, which may take that back,
// for samples, and for the client, when to come again.
func (c *decision) noteDenial(m *meter, r *rule, x *excess) {
	if x.width == nil && x.crossed && m.aside != nil && m.CountsAddresses() {
		c.d.outages.rememberBlock(made{rule: r.Name, prefix: x.prefix, addr: c.event.Addr, since: c.now, scope: c.d.outages.scopeOf(c.event)})
	}
	if x.width == nil && x.reachesMultiple(sampleEvery) {
		c.sample(x.prefix, time.Time{})
	}
	switch {
	case c.audience != forClient:
	case x.width != nil:
		c.retryAfter = max(c.retryAfter, c.retryWide(m, x))
	default:
		c.retryAfter = max(c.retryAfter, m.retryAfter(&c.occasion, r))
	}
}

// finishVerdict returns the verdict and notes a block that refused the event, or would
// have in mode monitor.
func (c *decision) finishVerdict() edgeguard.Verdict {
	if c.isUnaffected() {
		return edgeguard.Verdict{}
	}
	if c.standing == blocklist.Blocked {
		c.noteRefusal()
	}
	return c.verdict()
}

// isUnaffected reports whether neither a list nor a rule has anything to say of the event.
func (c *decision) isUnaffected() bool {
	return c.standing == blocklist.None && c.action == edgeguard.ActionPass && !c.closed
}

// verdict returns the verdict as the mode has it: how the address is listed goes before what a rule
// says of this event alone.
func (c *decision) verdict() (v edgeguard.Verdict) {
	switch c.standing {
	case blocklist.Allowed:
		return edgeguard.Verdict{Reason: "allowlist"}
	case blocklist.Protected:
		return edgeguard.Verdict{Reason: "protected"}
	case blocklist.Blocked:
		v = edgeguard.Verdict{Action: edgeguard.ActionDeny, Rule: c.block.Rule, Reason: "blocked",
			Count: c.block.Count, Limit: c.block.Limit, RetryAfter: c.retryAfterBlock()}
	default:
		v = c.ruling.verdict(c.d)
	}
	if c.d.config.Monitor && v.Action == edgeguard.ActionDeny {
		v.Action, v.Unenforced = edgeguard.ActionShadow, true
	}
	return v
}
