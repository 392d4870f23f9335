package detector

import (
	"iter"
	"net/netip"
	"time"

	"edgeguard/ring"
)

const (
	// stepMemory is how long after a key's last block the next one is still
	// its second, third and so on.
	stepMemory = 24 * time.Hour
	// maxSteps is how many keys' steps are remembered, about 76 bytes each.
	// With more, the key that was blocked longest ago is forgotten: a flood of
	// addresses has to cross a limit with each to get there.
	maxSteps = 1 << 16
)

// Step is how far a key has come on the steps of a rule that escalates.
type Step struct {
	Rule   string
	Prefix netip.Prefix
	// Blocks is the number of the step, 1 with its first block: how often it was
	// blocked for going over the limit again, each time within a day of the block
	// before it.
	Blocks int
	// Since is when its last block began, and Until when that ends.
	Since, Until time.Time
	// Counted is what this node had counted of the key by then, in the slot in
	// which the block began.
	Counted uint32
}

// step returns the step on which a block of the key stands that begins now, without
// its end. It is one further than the last if what was counted since that began is
// over the limit by itself: a client that returns in time, and is over only with
// what it did before, climbs no further. Nor does a block that has not ended: it was
// evicted or replaced by another rule's, and this one takes its place. An active
// block of another rule does not stop the climb: with a short block, an attacker
// could choose never to climb.
func (d *Detector) step(now time.Time, r *rule, prefix netip.Prefix) Step {
	s := Step{Rule: r.Name, Prefix: prefix, Blocks: 1, Since: now}
	if len(r.Escalate) == 0 {
		return s
	}
	source := d.source(r, prefix)
	m := source.meter
	slot := m.slot(seconds(now))
	counts, _ := source.table.Ring(prefix.Addr(), "", slot)
	s.Counted = uint32(counts[ring.Slots-1])
	last := d.steps.last(r.Name, prefix, now)
	if last.Blocks > 0 {
		s.Blocks = last.Blocks
		if !now.Before(last.Until) && over(counts, slot-min(slot, m.slot(seconds(last.Since))), last.Counted, source.limit) {
			s.Blocks++
		}
	}
	return s
}

// over reports whether the counts of the last slots, from the one that is age slots
// old, are more than n, without what had been counted in that one. Of that less may be
// left, where values were seen again since. Of what began before the window all that is
// there came later.
func over(counts [ring.Slots]uint16, age, counted, n uint32) bool {
	if age >= ring.Slots {
		return true
	}
	first := uint32(counts[ring.Slots-1-age])
	sum := first - min(first, counted)
	for _, c := range counts[ring.Slots-age:] {
		sum += uint32(c)
	}
	return sum > n
}

// inside reports whether p is outer or a part of it.
func inside(p, outer netip.Prefix) bool {
	return p.Bits() >= outer.Bits() && outer.Contains(p.Addr())
}

// Steps returns what is remembered of the keys of rules that escalate, the one
// that was blocked longest ago first, as it was when the iteration began: for a
// snapshot.
func (d *Detector) Steps() iter.Seq[Step] { return d.steps.each() }

// RestoreSteps restores what Steps returned, in its order, before the first event.
// It ignores steps that have ended at now or are invalid, and returns how many it
// restored.
func (d *Detector) RestoreSteps(now time.Time, saved []Step) (taken int) {
	for _, step := range saved {
		if step.Blocks < 1 || !step.Prefix.IsValid() || !now.Before(step.Until.Add(stepMemory)) {
			continue
		}
		d.steps.note(step)
		taken++
	}
	return taken
}
