package detector

import (
	"time"

	"edgeguard"
	"edgeguard/internal/unsafetext"
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
	if !known || !m.fill(&op, event, at) {
		return 0, false
	}
	return m.table(event).Count(event.Addr, unsafetext.String(with), op.Now), true
}

// countAll counts the event in every meter that matches, and in a batch in those
// that are exact.
func (c *decision) countAll() {
	if c.d.config.Fleet != nil {
		c.countInFleet()
		return
	}
	if c.d.indexed {
		c.countIndexed()
		return
	}
	meters := c.d.meters
	for i := range meters {
		m := &meters[i]
		if c.batched && !m.exact {
			continue
		}
		if n := m.add(c); n.cost > 0 {
			c.take(m, n)
		}
	}
}

// countIndexed is countAll where the rules name many paths. A function of its own, so
// that nobody else pays for the room.
func (c *decision) countIndexed() {
	var room [setWords]uint64
	for i := range c.d.config.Rules.MayMatch(c.event, room[:]).All {
		if m := &c.d.meters[i]; !c.batched || m.exact {
			c.take(m, m.add(c))
		}
	}
}
