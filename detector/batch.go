package detector

import (
	"sync"
	"time"

	"edgeguard"
	"edgeguard/shard"
)

// batchSize is how many events are looked up together: enough to overlap their
// cache misses, few enough to stay in the first cache.
const batchSize = 64

// batch is the room for deciding up to batchSize events together.
type batch struct {
	decisions [batchSize]decision
	// counts holds what each meter counted, meter by meter.
	counts [][batchSize]count
	// ops are the operations on one table, and at where they came from.
	ops  []shard.Op
	at   []uint8
	outs [batchSize]shard.Count
	text []byte // attributes, which ops point into
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
	return &batch{
		counts: make([][batchSize]count, len(d.meters)),
		ops:    make([]shard.Op, 0, batchSize),
		at:     make([]uint8, 0, batchSize),
	}
}

// DecideBatch decides many events: verdicts[i] is what Decide(nows[i],
// &events[i]) would give, called one after the other, with the memory latency
// of the look-ups overlapped. Only RetryAfter is left out where a rule and not
// a block denies: nobody waits for the verdict on an event that was read in a
// batch. And a block that while_over extends may be extended by what later
// events of the batch counted. The slices are of one length.
func (d *Detector) DecideBatch(nows []time.Time, events []edgeguard.Event, verdicts []edgeguard.Verdict) {
	b := d.takeBatch()
	for len(events) > 0 {
		n := min(len(events), batchSize)
		b.decide(d, nows[:n], events[:n], verdicts[:n])
		nows, events, verdicts = nows[n:], events[n:], verdicts[n:]
	}
	clear(b.decisions[:]) // events and blocks must not be kept alive
	d.idle.pool.Put(b)
}

// decide counts all events first, meter by meter, and then gives the verdicts
// in the order of the events. That is the same as one by one, because what is
// counted depends on no verdict.
func (b *batch) decide(d *Detector, nows []time.Time, events []edgeguard.Event, verdicts []edgeguard.Verdict) {
	empty := d.config.List.Empty()
	for i := range events {
		c := &b.decisions[i]
		if c.open(d, nows[i], &events[i]); !empty {
			c.look()
		}
	}
	cases := b.decisions[:len(events)]
	for i := range d.meters {
		m := &d.meters[i]
		clear(b.counts[i][:])
		if others := b.count(m, m.proven, cases, b.counts[i][:]); others > 0 {
			b.count(m, m.forgeable, cases, b.counts[i][:])
		}
	}
	blocked := false
	for i := range cases {
		c := &cases[i]
		if !c.spared() {
			b.judge(c, i, blocked)
			blocked = blocked || c.made
		}
		verdicts[i] = c.verdict()
		b.notes.note(d, c, verdicts[i].Action)
	}
	d.stripes.add(&b.notes, events[0].Addr)
}

// judge compares one event's counts with the limits. If an event before it in
// the batch made or extended a block, the blocklist is asked again.
func (b *batch) judge(c *decision, i int, blocked bool) {
	if blocked {
		c.look()
	}
	for k := range b.counts {
		if n := b.counts[k][i]; n.cost > 0 {
			c.judge(k, n)
		}
	}
}

// count adds the events that m matches and counts in table. It returns how
// many events count in the meter's other table.
func (b *batch) count(m *meter, table *shard.Table, cases []decision, counts []count) (others int) {
	b.ops, b.at, b.text = b.ops[:0], b.at[:0], b.text[:0]
	for i := range cases {
		c := &cases[i]
		if c.spared() {
			continue
		}
		if m.table(c.event) != table {
			others++
			continue
		}
		op := &b.ops[:len(b.ops)+1][len(b.ops)]
		if !m.fill(op, c) {
			continue
		}
		text, known := m.attributes(c, b.text)
		if !known {
			continue
		}
		op.With, b.text = view(text[len(b.text):]), text
		b.ops, b.at = b.ops[:len(b.ops)+1], append(b.at, uint8(i))
	}
	if len(b.ops) == 0 {
		return others
	}
	table.AddBatch(b.ops, b.outs[:len(b.ops)])
	for k, i := range b.at {
		counts[i] = cases[i].counted(b.outs[k], b.ops[k].Cost)
	}
	if m.fleet && table == m.proven {
		for k, i := range b.at {
			cases[i].askFleet(m, &b.ops[k], &counts[i])
		}
	}
	return others
}
