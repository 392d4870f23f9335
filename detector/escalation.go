package detector

import (
	"iter"
	"net/netip"
	"time"

	"edgeguard"
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

// escalationStep returns the step on which a block of the key stands that begins now, without
// its end. It is one further than the last if what was counted since that began is
// over the limit by itself: a client that returns in time, and is over only with
// what it did before, climbs no further. Nor does a block that has not ended: it was
// evicted or replaced by another rule's, and this one takes its place. An active
// block of another rule does not stop the climb: with a short block, an attacker
// could choose never to climb.
func (d *Detector) escalationStep(now time.Time, r *rule, prefix netip.Prefix) Step {
	s := Step{Rule: r.Name, Prefix: prefix, Blocks: 1, Since: now}
	if len(r.Escalate) == 0 {
		return s
	}
	source := d.source(r, prefix)
	m := source.meter
	slot := m.slotAt(seconds(now))
	counts, _ := source.table.SlotsOf(prefix.Addr(), "", slot)
	s.Counted = uint32(counts[ring.Slots-1])
	last := d.steps.lastStep(r.Name, prefix, now)
	if last.Blocks > 0 {
		s.Blocks = last.Blocks
		if !now.Before(last.Until) && over(counts, slot-min(slot, m.slotAt(seconds(last.Since))), last.Counted, source.limit) {
			s.Blocks++
		}
	}
	return s
}

// Received notes a block of another node that is in force here now as a step of its rule,
// if that escalates: whoever returns on this node climbs on from there. How many blocks
// the key had by then the record does not say, but how long the step's are; of steps that
// last as long it is the next of those that are known here. A block that began before the
// last one known had ended is the same, or stands in its place, and may end later.
//
// Where no more keys are remembered, it is left out: what others write forgets nothing
// that this node has seen itself.
func (d *Detector) Received(now time.Time, b *edgeguard.Block) {
	i, known := d.named[b.Rule]
	if !known || b.Lifted || b.Allow || len(d.rules[i].Escalate) == 0 {
		return
	}
	r := &d.rules[i]
	last := d.steps.lastStep(r.Name, b.Prefix, now)
	if last.Blocks > 0 && b.Since.Before(last.Until) {
		if b.Until.After(last.Until) {
			d.steps.prolong(r.Name, b.Prefix, b.Until)
		}
		return
	}
	step := Step{Rule: r.Name, Prefix: b.Prefix, Since: b.Since, Until: b.Until, Blocks: last.Blocks + 1}
	if !r.WhileOver { // whose length says how long the client went on
		step.Blocks = stepOf(r, b.Until.Sub(b.Since), step.Blocks)
	}
	source := d.source(r, b.Prefix)
	slot := source.meter.slotAt(seconds(now))
	if age := slot - min(slot, source.meter.slotAt(seconds(b.Since))); age < ring.Slots {
		counts, _ := source.table.SlotsOf(b.Prefix.Addr(), "", slot)
		step.Counted = uint32(counts[ring.Slots-1-age])
	}
	if last.Blocks > 0 || !d.steps.isFull() {
		d.steps.noteStep(step)
	}
}

// stepOf returns the number of a block of this length: next, if that step lasts as long,
// or else the nearest that does.
func stepOf(r *rule, length time.Duration, next int) int {
	first := 1
	for n := 2; n <= len(r.Escalate)+1; n++ {
		if made := r.Blocked(n - 1); made > r.Blocked(first-1) && made <= length {
			first = n
		}
	}
	last := first
	for last <= len(r.Escalate) && r.Blocked(last) == r.Blocked(first-1) {
		last++
	}
	if last > len(r.Escalate) {
		return max(first, next) // the last step, which all later blocks stand on
	}
	return min(max(first, next), last)
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
func (d *Detector) Steps() iter.Seq[Step] { return d.steps.allSteps() }

// RestoreSteps restores what Steps returned, in its order, before the first event.
// It ignores steps that have ended at now or are invalid, and returns how many it
// restored.
func (d *Detector) RestoreSteps(now time.Time, saved []Step) (taken int) {
	for _, step := range saved {
		if step.Blocks < 1 || !step.Prefix.IsValid() || !now.Before(step.Until.Add(stepMemory)) {
			continue
		}
		d.steps.noteStep(step)
		taken++
	}
	return taken
}
