package detector

import (
	"time"

	"edgeguard"
	"edgeguard/internal/unsafetext"
	"edgeguard/rules"
	"edgeguard/shard"
)

// setWords is the stack for a bit of each meter: more than 1,024 cost an allocation.
const setWords = 16

// Count returns what this node has counted at now of the key that an event has for a rule, by
// its index. It counts nothing, and reports false if the rule does not count such an event.
func (d *Detector) Count(now time.Time, event *edgeguard.Event, rule int) (count uint32, ok bool) {
	m := &d.meters[d.rules[rule].Meter]
	at, _ := newMoment(now, event.Time)
	var buf [attributesSize]byte
	var op shard.Op
	with, known := m.attributes(event, buf[:0])
	cost, matched := m.Match(event)
	if !known || !matched || !m.prepareOp(&op, event, at, cost, new(shown)) {
		return 0, false
	}
	return m.table(event).Count(op.Addr, unsafetext.String(with), op.Now), true
}

// counting is an event as it is counted, with the counts of which a rule may have something to say.
type counting struct {
	listed
	watched
	remarks
	ours bool // the answer is this node's own refusal
	over overCounts
}

// remarks are what the statistics have of an event beside its verdict.
type remarks struct {
	early, late bool
	unknown     bool // its answer may be this node's own refusal
}

// watched is what the outage watch says of an event with an answer.
type watched struct {
	fails   bool // the answer is a failure, in scope
	excused bool // the site fails: excusing meters do not count the event
	scope   uint8
	charged uint32 // what that spared the client, as in spared
}

// overCounts are counts in the order in which they were counted; more are those for which
// first has no room.
type overCounts struct {
	first [4]overCount
	n     int
	more  []overCount
}

// overCount is a count of a meter: of the event's key, or of the network around it
// that is the width-th of the meter's, from 1.
type overCount struct {
	meter int32
	width int32
	count
}

func (o *overCounts) add(n overCount) {
	if o.n < len(o.first) {
		o.first[o.n] = n
		o.n++
	} else {
		o.more = append(o.more, n)
	}
}

// find returns a count of a meter, nil if it was not added.
func (o *overCounts) find(meter, width int) *overCount {
	for i := range o.first[:o.n] {
		if n := &o.first[i]; n.meter == int32(meter) && n.width == int32(width) {
			return n
		}
	}
	for i := range o.more {
		if n := &o.more[i]; n.meter == int32(meter) && n.width == int32(width) {
			return n
		}
	}
	return nil
}

// noteCount reports the count of a key, keeps it if a rule may have something to say of
// it, and counts an IPv6 event in the networks around the key.
func (c *counting) noteCount(m *meter, n count) {
	if n.cost == 0 {
		return
	}
	if c.fails && m.aside != nil {
		c.noteFailed(&c.occasion, m, n.added)
	}
	c.noteKeyCount(m, n)
	if m.wide != nil && c.event.Addr.Is6() {
		c.countWide(m, n)
	}
}

// noteKeyCount is noteCount without the networks.
func (c *counting) noteKeyCount(m *meter, n count) {
	if hear := c.d.config.Counted; hear != nil {
		hear(m.index, c.event, n.count, uint32(n.cost))
	}
	if int64(n.count)+int64(n.rest) > c.d.countWithoutRule(m) {
		c.over.add(overCount{int32(m.index), 0, n})
	}
}

// noteWideCount keeps the count of the k-th of the networks around a key likewise.
func (c *counting) noteWideCount(m *meter, k int, n count) {
	if n.count > m.wide[k].least {
		c.over.add(overCount{int32(m.index), int32(k + 1), n})
	}
}

// countAll counts the event in every meter that matches.
func (c *counting) countAll() {
	if c.d.config.Fleet != nil {
		c.countInFleet()
		return
	}
	if c.d.indexed {
		c.countIndexed()
		return
	}
	for i := range c.d.meters {
		m := &c.d.meters[i]
		if cost, matched := m.Match(c.event); matched {
			c.noteCount(m, m.countEvent(c, cost))
		}
	}
}

// countIndexed is countAll where the rules name many paths. A function of its own, so
// that nobody else pays for the room.
func (c *counting) countIndexed() {
	var room [rules.Sets * setWords]uint64
	for i, cost := range c.d.config.Rules.Matches(c.event, room[:]) {
		m := &c.d.meters[i]
		c.noteCount(m, m.countEvent(c, cost))
	}
}
