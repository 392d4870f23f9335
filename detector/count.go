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
	return m.table(event).Count(event.Addr, unsafetext.String(with), op.Now), true
}

// countAll counts the event in every meter that matches.
func (c *decision) countAll() {
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
			c.takeCount(m, m.countEvent(c, cost))
		}
	}
}

// countIndexed is countAll where the rules name many paths. A function of its own, so
// that nobody else pays for the room.
func (c *decision) countIndexed() {
	var room [rules.Sets * setWords]uint64
	for i, cost := range c.d.config.Rules.Matches(c.event, room[:]) {
		m := &c.d.meters[i]
		c.takeCount(m, m.countEvent(c, cost))
	}
}
