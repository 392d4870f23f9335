package detector

import (
	"math/bits"

	"edgeguard"
)

// findCandidates finds the events that no list exempts and that each meter may match.
func (b *batch) findCandidates(d *Detector, events []edgeguard.Event) {
	heard := ^eventSet(0) >> (batchSize - len(events)) &^ b.spared
	if !d.indexed {
		for i := range b.candidates {
			b.candidates[i] = heard
		}
		return
	}
	clear(b.candidates)
	clear(b.matched)
	for i := range heard.all {
		matched, costs := b.ofEvent(i)
		for m, cost := range d.config.Rules.Matches(&events[i], b.room) {
			b.candidates[m].add(i)
			matched[m>>6] |= 1 << (m & 63)
			costs[m] = cost
		}
	}
}

// ofEvent returns the meters that the i-th event matches, and their costs.
func (b *batch) ofEvent(i int) (matched []uint64, costs []uint16) {
	return b.matched[i*b.words : (i+1)*b.words], b.costs[i*len(b.candidates) : (i+1)*len(b.candidates)]
}

// costOf returns what an event costs a meter that is asked of it, if it matches.
func (b *batch) costOf(d *Detector, m *meter, i int, ev *edgeguard.Event) (cost uint16, matched bool) {
	if d.indexed {
		return b.costs[i*len(b.candidates)+m.index], true
	}
	return m.Match(ev)
}

// countExact counts an event in the exact meters.
func (b *batch) countExact(c *counting, i int) {
	if !c.d.indexed {
		for k := range c.d.meters {
			if m := &c.d.meters[k]; m.exact {
				if cost, matched := m.Match(c.event); matched {
					b.countOne(c, m, cost)
				}
			}
		}
		return
	}
	matched, costs := b.ofEvent(i)
	for w, word := range matched {
		for word &= c.d.exacts[w]; word != 0; word &= word - 1 {
			k := w<<6 + bits.TrailingZeros64(word)
			b.countOne(c, &c.d.meters[k], costs[k])
		}
	}
}

func (b *batch) countOne(c *counting, m *meter, cost uint16) {
	if c.d.config.Fleet == nil {
		c.noteCount(m, m.countEvent(c, cost))
		return
	}
	question := c.d.questions.borrow()
	c.countOneInFleet(m, cost, question)
	c.d.questions.giveBack(question)
}
