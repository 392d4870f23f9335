package detector

import (
	"math/bits"
	"sync"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/internal/unsafetext"
	"edgeguard/rules"
	"edgeguard/shard"
)

// batchSize is how many events are looked up together: enough to overlap their
// cache misses, few enough to stay in the first cache, and as many as a set
// holds.
const batchSize = 64

// eventSet is some of a batch's events, a bit each.
type eventSet uint64

func (s eventSet) has(i int) bool { return s>>(i&63)&1 != 0 }
func (s *eventSet) add(i int)     { *s |= 1 << (i & 63) }
func (s eventSet) len() uint64    { return uint64(bits.OnesCount64(uint64(s))) }

// all calls yield with each event, in order.
func (s eventSet) all(yield func(i int) bool) {
	for ; s != 0; s &= s - 1 {
		if !yield(bits.TrailingZeros64(uint64(s))) {
			return
		}
	}
}

// batch is the memory for deciding up to batchSize events together. Nearly all
// of them pass: they are counted and compared with one number. Only the others
// need a decision.
type batch struct {
	moments [batchSize]moment
	shown   [batchSize]shown
	// standings and hits hold how the addresses stand, of those in known;
	// spared are known addresses that no rule looks at.
	standings     [batchSize]blocklist.Standing
	hits          [batchSize]*blocklist.Hit
	known, spared eventSet
	six           eventSet // those of IPv6
	exact         eventSet // those that an exact meter may count
	// excused are the failures that excusing meters do not count. turned says that the last
	// event armed or disarmed a scope, and locked that the watch is locked.
	excused        eventSet
	turned, locked bool
	// fails are those with an answer that is a failure, and scopes the watch's of all that have
	// an answer.
	fails  eventSet
	scopes [batchSize]uint8
	// ours are those with an answer that this node had the client told.
	ours eventSet
	// doors is how many the front doors were shown.
	doors int
	// candidates are the events of which each meter is asked. Where an event is not asked of every
	// meter, these are the ones that it matches, with their costs, and matched are the meters of
	// each event. words is how many of those an event has, and room is to find them.
	candidates []eventSet
	matched    []uint64
	costs      []uint16
	words      int
	room       []uint64

	// counts holds what each meter counted, meter by meter, of the events in
	// counted. late are those that some meter did not count as too old, and
	// over those of which some meter has something to say.
	counts     [][batchSize]count
	counted    []eventSet
	late, over eventSet
	// wide is the same for the networks around the keys, by meter and size.
	wide [][]wideCounts

	// ops are the operations on one table, and at where they came from.
	ops  []shard.Op
	at   []uint8
	outs [batchSize]shard.Count
	text []byte // attributes, which ops point into
	// decision is that of the current event, here so that it is not allocated for
	// each.
	decision decision
	// notes are the statistics of the batch, before they are added to the
	// detector's.
	notes notes
}

// idleBatches keeps batches for the next caller.
type idleBatches struct{ pool sync.Pool }

func (d *Detector) takeBatch() *batch {
	if b, ok := d.idle.pool.Get().(*batch); ok {
		return b
	}
	words := (len(d.meters) + 63) / 64
	b := &batch{
		counts:     make([][batchSize]count, len(d.meters)),
		counted:    make([]eventSet, len(d.meters)),
		candidates: make([]eventSet, len(d.meters)),
		words:      words,
		room:       make([]uint64, rules.Sets*words),
		wide:       make([][]wideCounts, len(d.meters)),
		ops:        make([]shard.Op, 0, batchSize),
		at:         make([]uint8, 0, batchSize),
	}
	for i := range d.meters {
		b.wide[i] = make([]wideCounts, len(d.meters[i].wide))
	}
	if d.indexed {
		b.matched, b.costs = make([]uint64, batchSize*words), make([]uint16, batchSize*len(d.meters))
	}
	return b
}

// DecideBatch decides many events, with the memory latency of the look-ups
// overlapped: verdicts[i] is what Decide(nows[i], &events[i]) would return, called
// in order. Only RetryAfter differs, since no client waits for the verdict on an
// event read in a batch: it is 0 if a rule denies, and the end of the block if a
// block does. Meters of rules with while_over, or with escalate and blocks shorter
// than the window, are counted event by event, because their decisions read more
// than the count. The slices must have one length.
func (d *Detector) DecideBatch(nows []time.Time, events []edgeguard.Event, verdicts []edgeguard.Verdict) {
	b := d.takeBatch()
	for len(events) > 0 {
		n := min(len(events), batchSize)
		n = b.decide(d, nows[:n], events[:n], verdicts[:n])
		nows, events, verdicts = nows[n:], events[n:], verdicts[n:]
	}
	d.idle.pool.Put(b)
}

// decide counts all events first, meter by meter, and then makes the verdicts in
// the order of the events. That is the same as one by one, because what is
// counted depends on no verdict. It returns how many of the events it has decided: all,
// or those up to one that arms a scope.
func (b *batch) decide(d *Detector, nows []time.Time, events []edgeguard.Event, verdicts []edgeguard.Verdict) (n int) {
	n = b.open(d, nows, events)
	nows, events, verdicts = nows[:n], events[:n], verdicts[:n]
	if b.excused != 0 || b.turned {
		b.decideExcused(d, nows, events, verdicts)
	} else {
		b.decideAll(d, nows, events, verdicts)
	}
	b.notes.late += b.late.len()
	d.statistics.addNotes(&b.notes)
	b.forget()
	return n
}

// decideAll is decide for an opened batch of which nothing is excused.
func (b *batch) decideAll(d *Detector, nows []time.Time, events []edgeguard.Event, verdicts []edgeguard.Verdict) {
	b.findCandidates(d, events)
	b.exact = 0
	for i := range d.meters {
		m := &d.meters[i]
		b.counted[i] = 0
		for k := range b.wide[i] {
			b.wide[i][k].counted = 0
		}
		if m.answers {
			b.candidates[i] &^= b.ours
		}
		if m.exact {
			b.exact |= b.candidates[i]
		}
		if m.exact || b.candidates[i] == 0 {
			continue
		}
		first := m.table(&events[0])
		if others := b.count(d, m, first, events); others > 0 {
			b.count(d, m, m.other(first), events)
		}
	}
	b.judge(d, nows, events, verdicts)
}

// open sets the seconds, asks the blocklist, and shows the watch the answers. It returns
// how many of the events are to be decided now.
func (b *batch) open(d *Detector, nows []time.Time, events []edgeguard.Event) int {
	b.known, b.spared, b.six, b.late, b.over, b.excused, b.fails, b.ours, b.turned, b.doors = 0, 0, 0, 0, 0, 0, 0, 0, false, 0
	empty := d.listless()
	for i := 0; i < len(events) && !b.turned; i++ {
		ev := &events[i]
		at, early := newMoment(nows[i], ev.Time)
		b.shown[i] = shown{}
		if b.moments[i] = at; early {
			b.notes.early++
		}
		if ev.Addr.Is6() {
			b.six.add(i)
		}
		if !empty {
			b.look(d, i, nows[i], ev)
		}
		if ev.TurnedAway {
			b.own(d, i, nows[i], ev)
		}
		b.notes.sample(d, ev, at, b.spared.has(i))
		if d.outages != nil && !b.spared.has(i) && b.watchAnswer(d, i, ev) {
			b.turned, events = true, events[:i+1]
		}
	}
	if b.locked {
		b.locked = false
		d.outages.mu.Unlock()
	}
	return len(events)
}

// look notes how an event's address stands, if the blocklist knows of it.
func (b *batch) look(d *Detector, i int, now time.Time, ev *edgeguard.Event) {
	standing, hit := d.standingOf(now, ev.Addr)
	if standing == blocklist.None {
		return
	}
	b.known.add(i)
	b.standings[i], b.hits[i] = standing, hit
	if isExempt(standing) {
		b.spared.add(i)
	}
}

// own notes whether an event's answer is what this node had the client told.
func (b *batch) own(d *Detector, i int, now time.Time, ev *edgeguard.Event) {
	ours, unknown := d.turnedAway(now, b.moments[i], ev)
	if ours {
		b.ours.add(i)
	}
	if unknown {
		b.notes.unknown++
	}
}

// forget lets go of events and blocks, which must not be kept alive.
func (b *batch) forget() {
	b.decision = decision{}
	if b.known != 0 {
		clear(b.hits[:])
	}
}

// openDecision begins the decision on the i-th event, but for what the lists say. It sets field by
// field: a literal would be made beside it and copied.
func (b *batch) openDecision(d *Detector, i int, now time.Time, ev *edgeguard.Event) *decision {
	c := &b.decision
	*c = decision{}
	c.d, c.event, c.now, c.moment, c.events = d, ev, now, b.moments[i], 1
	c.fails, c.scope, c.shown = b.fails.has(i), b.scopes[i], b.shown[i]
	return c
}

// judge returns the verdicts. If an event made or extended a block, the
// blocklist is asked again for those that come after it.
func (b *batch) judge(d *Detector, nows []time.Time, events []edgeguard.Event, verdicts []edgeguard.Verdict) {
	clear(verdicts)
	blocked := false
	for i := range events {
		if !blocked && !(b.known | b.over | b.ours | b.exact).has(i) && !(d.exact && d.mayAsk(&events[i])) {
			continue
		}
		b.showDoors(d, events, i)
		c := b.openDecision(d, i, nows[i], &events[i])
		if blocked {
			c.askLists()
		} else if b.known.has(i) {
			c.standing, c.hit = b.standings[i], b.hits[i]
			c.block = c.hit.Block()
		}
		if !c.isExempt() {
			b.compareCounts(c, i)
			c.repeatDenial(b.ours.has(i))
			blocked = blocked || c.effect != noEffect
		}
		if !c.isUnaffected() {
			verdicts[i] = c.finishVerdict()
		}
	}
	b.showDoors(d, events, len(events)-1)
	for i := range verdicts {
		b.notes.noteVerdict(d.IsAnswer(&events[i]), b.spared.has(i), verdicts[i].Action)
	}
}

// compareCounts compares an event's counts with the limits, once the exact meters have
// counted it.
func (b *batch) compareCounts(c *decision, i int) {
	if b.over.has(i) {
		b.noteCounts(&c.counting, i)
	}
	if c.d.exact {
		if c.d.asks && c.awaitsAnswer() {
			c.askRules(&c.listed, false)
		}
		c.ours = b.ours.has(i) || c.refusesRecorded()
		if b.countExact(&c.counting, i); c.late {
			b.late.add(i)
		}
	}
	c.judgeCounts()
}

// noteCounts notes an event's counts, one of which a rule has something to say of.
func (b *batch) noteCounts(c *counting, i int) {
	for k := range b.counts {
		if b.counted[k].has(i) {
			m := &c.d.meters[k]
			c.noteKeyCount(m, b.counts[k][i])
			b.noteWideCounts(c, m, i)
		}
	}
}

// count adds the events that m matches and counts in table. It returns how
// many events count in the meter's other table.
func (b *batch) count(d *Detector, m *meter, table *shard.Table, events []edgeguard.Event) (others int) {
	b.ops, b.at, b.text = b.ops[:0], b.at[:0], b.text[:0]
	for i := range b.candidates[m.index].all {
		ev := &events[i]
		if m.table(ev) != table {
			others++
			continue
		}
		op := &b.ops[:len(b.ops)+1][len(b.ops)]
		cost, matched := b.costOf(d, m, i, ev)
		if !matched || !m.prepareOp(op, ev, b.moments[i], cost, &b.shown[i]) {
			continue
		}
		text, known := m.attributes(ev, b.text)
		if !known {
			continue
		}
		op.With, b.text = unsafetext.String(text[len(b.text):]), text
		b.ops, b.at = b.ops[:len(b.ops)+1], append(b.at, uint8(i))
	}
	if len(b.ops) > 0 {
		table.AddBatch(b.ops, b.outs[:len(b.ops)])
		b.note(d, m, table, events)
		if m.aside != nil && b.fails != 0 && table == m.proven && m.CountsAddresses() {
			b.noteFailed(d, m, events)
		}
		if m.wide != nil && b.six != 0 && table == m.proven {
			b.countWide(m)
		}
	}
	return others
}

// note keeps a table's answers.
func (b *batch) note(d *Detector, m *meter, table *shard.Table, events []edgeguard.Event) {
	silent := d.countWithoutRule(m)
	counts, counted := &b.counts[m.index], &b.counted[m.index]
	asks := m.fleet && table == m.proven
	for k, i := range b.at {
		n, late := answered(b.outs[k], b.ops[k].Cost)
		switch {
		case late:
			b.late.add(int(i))
		case n.cost > 0:
			counted.add(int(i))
			if asks {
				d.askFleet(m, &b.ops[k], &events[i], &n)
			}
			if counts[i] = n; int64(n.count)+int64(n.rest) > silent {
				b.over.add(int(i))
			}
		}
	}
}
