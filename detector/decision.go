package detector

import (
	"net/netip"
	"strings"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/rules"
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
	shown       shown
	early, late bool
	inline      bool // a client waits for the verdict, and Retry-After may be sent
	elsewhere   bool // another program counted what this decides, and nothing but the address is known
	ours        bool // the answer is this node's own refusal; unknown: it may be
	unknown     bool
	quiet       bool // nothing is refused now
	asking      bool // rules are asked that do not count the event

	standing blocklist.Standing
	hit      *blocklist.Hit   // the standing block, if there is one
	block    *edgeguard.Block // that of hit
	made     bool             // a rule has blocked for this event
	fails    bool             // the answer is a failure, in scope
	scope    uint8            // the watch's, of an event with an answer
	excused  bool             // the site fails: guarded meters do not count the event
	charged  uint32           // what that spared the client, as in spared
	changed  bool             // this event made or extended a block

	events uint32 // how many events this decides: of those elsewhere, many with the same verdict

	// over are the counts of which a rule has something to say; more are those
	// for which over has no room.
	over  [4]overCount
	overs int
	more  []overCount

	// What the rules said, the strongest so far.
	action       edgeguard.Action
	closed       bool // because the fleet is lost, whatever the count
	rule         int
	count, limit uint32
	retryAfter   time.Duration
}

// overCount is a count of a meter: of the event's key, or of the network around it
// that is the width-th of the meter's, from 1.
type overCount struct {
	meter int32
	width int32
	count
}

// excess is a count over what rule i allows the event's key, or a network around it.
type excess struct {
	count
	rule   int
	prefix netip.Prefix
	limit  uint32
	width  *rules.Width // of a network; nil for the key
	// crossed says that the event brought the count over the limit, and news that
	// this is to be reported.
	crossed, news bool
}

// begin begins the zero decision: it fixes the seconds, and asks the lists. It sets
// field by field: a literal would be made beside it and copied.
func (c *decision) begin(d *Detector, now time.Time, event *edgeguard.Event) {
	c.d, c.event, c.now, c.events = d, event, now, 1
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

// askLists asks the lists how the address stands.
func (c *decision) askLists() {
	c.standing, c.hit = c.d.standingOf(c.now, c.event.Addr)
	c.block = c.hit.Block()
}

// isExempt reports whether a list exempts the address: no rule looks at it, and nothing counts.
func (c *decision) isExempt() bool { return isExempt(c.standing) }

func isExempt(s blocklist.Standing) bool {
	return s == blocklist.Allowed || s == blocklist.Protected
}

// takeCount reports the count of a key, keeps it if a rule may have something to say of
// it, and counts an IPv6 event in the networks around the key.
func (c *decision) takeCount(m *meter, n count) {
	if n.cost == 0 {
		return
	}
	if c.fails && m.aside != nil {
		c.noteFailed(m, n.added)
	}
	c.takeKeyCount(m, n)
	if m.wide != nil && c.event.Addr.Is6() {
		c.countWide(m, n)
	}
}

// takeKeyCount is takeCount without the networks.
func (c *decision) takeKeyCount(m *meter, n count) {
	if hear := c.d.config.Counted; hear != nil {
		hear(m.index, c.event, n.count, uint32(n.cost))
	}
	if int64(n.count)+int64(n.rest) > c.d.countWithoutRule(m) {
		c.keep(overCount{int32(m.index), 0, n})
	}
}

// takeWideCount keeps the count of the k-th of the networks around a key likewise.
func (c *decision) takeWideCount(m *meter, k int, n count) {
	if n.count > m.wide[k].least {
		c.keep(overCount{int32(m.index), int32(k + 1), n})
	}
}

func (c *decision) keep(n overCount) {
	if c.overs < len(c.over) {
		c.over[c.overs] = n
		c.overs++
	} else {
		c.more = append(c.more, n)
	}
}

// judgeCounts compares the counts with the limits of the rules, in the order of the
// config; of one rule the key before the networks around it.
func (c *decision) judgeCounts() {
	switch c.overs {
	case 0:
	case 1: // nearly always
		n := &c.over[0]
		for _, i := range c.d.meters[n.meter].rules {
			c.compareCount(i, n)
		}
	default:
		for i := range c.d.rules {
			m := c.d.rules[i].Meter
			for width := range 1 + len(c.d.meters[m].wide) {
				if n := c.of(m, width); n != nil {
					c.compareCount(i, n)
				}
			}
		}
	}
}

// of returns a count of a meter, if it was kept.
func (c *decision) of(meter, width int) *overCount {
	for i := range c.over[:c.overs] {
		if n := &c.over[i]; n.meter == int32(meter) && n.width == int32(width) {
			return n
		}
	}
	for i := range c.more {
		if n := &c.more[i]; n.meter == int32(meter) && n.width == int32(width) {
			return n
		}
	}
	return nil
}

// compareCount compares a count with the limit of rule i.
func (c *decision) compareCount(i int, n *overCount) {
	r := &c.d.rules[i]
	m := &c.d.meters[r.Meter]
	if n.width > 0 {
		c.compareWideCount(m, i, int(n.width)-1, n.count)
		return
	}
	if m.loses && c.d.lost.Load() {
		c.denyWithoutFleet(m, i)
	}
	seen := n.count
	if seen.rest > 0 {
		seen = seen.inScope(r.Scope)
	}
	r.countCandidates(seen, c.events)
	if seen.count <= r.Limit {
		if seen.count >= r.near {
			c.sampleNear(m, r, seen)
		}
		return
	}
	if crossed := seen.crossed(r.Limit); crossed || !c.blockSaysAll(r) {
		c.overLimit(m, excess{count: seen, rule: i, limit: r.Limit, crossed: crossed})
	}
}

// blockSaysAll reports whether a rule has nothing to say of a key that was over its limit
// before: a block denies the event whatever the rule says, and stays as it is.
func (c *decision) blockSaysAll(r *rule) bool {
	return c.standing == blocklist.Blocked && !c.made && !r.WhileOver
}

// overLimit acts on a key's count that is over the limit of a rule.
func (c *decision) overLimit(m *meter, x excess) {
	r := &c.d.rules[x.rule]
	x.prefix = m.Key(c.event.Addr, "").Prefix
	if c.event.Verified&m.Kind == 0 {
		if x.crossed {
			c.reportCrossing(m, &x, edgeguard.Crossing{Action: edgeguard.ActionAlarm})
		}
		return
	}
	x.news = x.crossed && c.isNews(m, x.rule)
	action := c.actionOf(r)
	if action == edgeguard.ActionBlock {
		c.blockFor(m, &x)
		return
	}
	if x.news {
		c.reportCrossing(m, &x, edgeguard.Crossing{Action: action})
	}
	if action >= edgeguard.ActionShadow {
		c.keepStrongest(action, &x)
	}
	if action == edgeguard.ActionDeny && x.crossed && m.aside != nil && len(m.Attributes) == 0 {
		c.d.outages.rememberBlock(made{rule: r.Name, prefix: x.prefix, addr: c.event.Addr, since: c.now, scope: c.d.outages.scopeOf(c.event)})
	}
	if action == edgeguard.ActionDeny && x.reachesMultiple(sampleEvery) {
		c.sample(x.prefix, time.Time{})
	}
	if c.inline && action == edgeguard.ActionDeny {
		c.retryAfter = max(c.retryAfter, m.retryAfter(c, r))
	}
}

// keepStrongest keeps what a rule does to this event alone, if it is the strongest so far, or as strong
// and of a rule that comes before.
func (c *decision) keepStrongest(action edgeguard.Action, x *excess) {
	if c.d.rules[x.rule].asked && !c.asking {
		return // of a recorded answer: its request is refused, or the next
	}
	if action > c.action || action == c.action && x.rule < c.rule {
		c.action, c.rule, c.count, c.limit, c.closed = action, x.rule, x.count.count, x.limit, false
	}
}

// blockFor blocks a prefix whose count is over a limit. Where a block holds the address already
// it does so at the crossing only, and if no block of all of the prefix is as strong;
// a while_over rule extends its own. A prefix that the list refuses (a protected
// address, 0.0.0.0), and a network that holds a protected address, raises an alarm
// instead.
func (c *decision) blockFor(m *meter, x *excess) {
	if c.event.Awaited && m.Fields()&edgeguard.FieldCrawler != 0 {
		return // an event after the answer blocks, if the rule still counts it
	}
	list, r := c.d.config.List, &c.d.rules[x.rule]
	if c.standing != blocklist.Blocked { // another goroutine may have been first
		c.askLists()
	}
	var old *edgeguard.Block
	if c.standing == blocklist.Blocked {
		if r.WhileOver {
			c.extendBlock(r, x.prefix)
		}
		if !x.crossed && !c.made {
			return
		}
		var by *edgeguard.Block
		if by, old = c.d.strongerBlock(c.now, r, x.prefix); by != nil {
			if by.Prefix == x.prefix {
				list.Prove(x.prefix, c.now)
			}
			if x.news {
				c.reportCrossing(m, x, edgeguard.Crossing{Action: edgeguard.ActionDeny, Stands: by.Rule, Until: by.Until})
			}
			return
		}
	}
	var until time.Time
	err, changed := blocklist.ErrProtected, false
	if x.width == nil || !list.HoldsProtected(x.prefix) {
		until, changed, err = c.d.makeBlock(c.now, r, edgeguard.Block{
			Prefix: x.prefix, Reason: x.reason(m, r.Rule), Origin: c.nodeOfEvent(), Proxied: c.event.Proxied, Count: x.count.count, Limit: x.limit,
		}, old, c.d.outages.scopeOf(c.event), rules.Provokable(c.event, c.d.config.Own))
	}
	switch {
	case err != nil:
		if x.news {
			c.reportCrossing(m, x, edgeguard.Crossing{Action: edgeguard.ActionAlarm})
		}
		return
	case changed:
		c.made, c.changed = true, true
		c.reportCrossing(m, x, edgeguard.Crossing{Action: edgeguard.ActionBlock, Until: until})
	}
	c.askLists()
}

// reportCrossing reports a crossing; told holds what came of it.
func (c *decision) reportCrossing(m *meter, x *excess, told edgeguard.Crossing) {
	hear := c.d.config.Crossed
	if hear == nil {
		return
	}
	r := &c.d.rules[x.rule]
	var buf [attributesSize]byte
	with, _ := m.AppendAttributes(c.event, buf[:0])
	told.Time, told.Node, told.Rule, told.Key = c.now, c.nodeOfEvent(), r.Name, m.Key(c.event.Addr, string(with))
	told.Count, told.Limit, told.Threshold, told.Fleet = x.count.count, x.limit, r.Threshold, x.rest > 0
	if x.width != nil {
		told.Key.Prefix, told.Wide = x.prefix, x.width.Bits
	}
	if told.Action == edgeguard.ActionAlarm {
		told.FrontDoor = c.frontDoor()
	}
	hear(told)
}

// nodeOfEvent is the node that saw the event.
func (c *decision) nodeOfEvent() string {
	if c.event.Node != "" {
		return strings.Clone(c.event.Node)
	}
	return c.d.config.Node
}

// finishVerdict returns the verdict and notes a block that refused the event, or would
// have in mode monitor.
func (c *decision) finishVerdict() edgeguard.Verdict {
	switch {
	case c.standing == blocklist.Blocked && c.d.IsAnswer(c.event):
		if c.made {
			c.sample(c.block.Prefix, c.block.Until)
		}
	case c.standing == blocklist.Blocked:
		if c.inline {
			c.hit.Asked(c.events)
		}
		if nth := c.hit.Refused(c.now, c.events); nth%sampleEvery == 1 || c.made {
			c.sample(c.block.Prefix, c.block.Until)
		}
	case c.isUnaffected():
		return edgeguard.Verdict{}
	}
	return c.verdict()
}

// isUnaffected reports whether neither a list nor a rule has anything to say of the event.
func (c *decision) isUnaffected() bool {
	return c.standing == blocklist.None && c.action == edgeguard.ActionPass && !c.closed
}

// verdict returns the verdict as the mode has it.
func (c *decision) verdict() edgeguard.Verdict {
	v := c.strongest()
	if c.d.config.Monitor && v.Action == edgeguard.ActionDeny {
		v.Action = edgeguard.ActionShadow
	}
	return v
}

// strongest returns the verdict before the mode has its say: a standing block
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
