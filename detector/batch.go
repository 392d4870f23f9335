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
// batch. The slices are of one length.
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
	for i := range events {
		b.decisions[i] = d.open(nows[i], &events[i])
	}
	cases := b.decisions[:len(events)]
	for i := range d.meters {
		m := &d.meters[i]
		clear(b.counts[i][:])
		b.count(m, m.proven, cases, b.counts[i][:])
		b.count(m, m.forgeable, cases, b.counts[i][:])
	}
	blocked := false
	for i := range cases {
		c := &cases[i]
		if !c.spared() {
			b.judge(c, i, blocked)
			blocked = blocked || c.made
		}
		verdicts[i] = c.verdict()
	}
}

// judge compares one event's counts with the limits. If an event before it in
// the batch made a block, the blocklist is asked again.
func (b *batch) judge(c *decision, i int, blocked bool) {
	if blocked {
		c.standing, c.block = c.d.config.List.Find(c.now, c.event.Addr)
	}
	for k := range b.counts {
		if n := b.counts[k][i]; n.cost > 0 {
			c.judge(k, n)
		}
	}
}

// count adds the events that m matches and counts in table.
func (b *batch) count(m *meter, table *shard.Table, cases []decision, counts []count) {
	b.ops, b.at, b.text = b.ops[:0], b.at[:0], b.text[:0]
	for i := range cases {
		c := &cases[i]
		if c.spared() || m.table(c.event) != table {
			continue
		}
		op, text, matched := m.op(c, b.text)
		b.text = text
		if matched {
			b.ops, b.at = append(b.ops, op), append(b.at, uint8(i))
		}
	}
	if len(b.ops) == 0 {
		return
	}
	table.AddBatch(b.ops, b.outs[:len(b.ops)])
	for k, i := range b.at {
		counts[i] = cases[i].counted(b.outs[k], b.ops[k].Cost)
	}
}
