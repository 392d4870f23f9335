package detector

import (
	"net/netip"
	"time"

	"edgeguard"
	"edgeguard/internal/unsafetext"
	"edgeguard/ring"
	"edgeguard/rules"
	"edgeguard/shard"
)

// makeBlock merges a block that rule r makes, for as long as its steps have it and, for
// a while_over rule, until this node's count will have fallen to the limit. old is
// the block of exactly the same prefix whose place it takes, nil if there is none.
// It reports until when. The rule's part of the block is filled in here. scope is that of
// the event that crossed, and provoked says that a page may have made a browser send it.
func (d *Detector) makeBlock(now time.Time, r *rule, b edgeguard.Block, old *edgeguard.Block, scope uint8, provoked bool) (until time.Time, changed bool, err error) {
	step, before := d.escalationStep(now, r, b.Prefix), Step{}
	source := d.source(r, b.Prefix)
	b.Rule, b.Limit = r.Name, source.limit
	blocks, lasts := r.StepOf(step.Blocks, provoked)
	step.Blocks, b.Since, b.Until = blocks, now, now.Add(lasts)
	if r.WhileOver {
		if least, _ := d.countFallsTo(&source, b.Prefix.Addr(), "", seconds(now), source.limit); least.After(b.Until) {
			b.Until = least
		}
	}
	// The first address of a network around keys says nothing of who is in it: no lift for it.
	excusing := d.outages != nil && source.meter.aside != nil
	if excusing {
		d.mayTravel(&b, scope)
	}
	if old == nil {
		b, changed, err = d.config.List.Add(b, false, now)
	} else {
		b.Version = old.Version + 1 // of the block as it was seen: who lifts it in between is not overruled
		changed, err = d.config.List.Merge(b, now)
	}
	if changed && err == nil && len(r.Escalate) > 0 {
		step.Until = b.Until
		before = d.steps.lastStep(r.Name, b.Prefix, now)
		d.steps.noteStep(step)
	}
	if changed && err == nil && excusing && source.table == source.meter.proven {
		d.outages.rememberBlock(made{r.Name, b.Prefix, b.Prefix.Addr(), now, before, scope})
	}
	if changed && err == nil {
		d.rollUp(now, b)
	}
	return b.Until, changed, err
}

// source is what a prefix is blocked by: the table that counts it and the limit, of
// a key or of a network around keys.
type source struct {
	meter *meter
	table *shard.Table
	limit uint32
	fleet bool // the limit is that of the whole fleet's count
}

// source returns that of a key of r, or of a network around its keys.
func (d *Detector) source(r *rule, prefix netip.Prefix) source {
	m := &d.meters[r.Meter]
	if prefix.Addr().Is6() && prefix.Bits() != int(m.V6) {
		for k, w := range r.Widths {
			if int(w.Bits) == prefix.Bits() {
				return source{m, m.wide[k].Table, w.Limit, false}
			}
		}
	}
	return source{m, m.proven, r.Limit, m.fleet && r.Scope == rules.ScopeFleet}
}

// blocksByPrefix reports whether the source's rule blocks an address by this prefix.
func (s *source) blocksByPrefix(addr netip.Addr, prefix netip.Prefix) bool {
	if s.table == s.meter.proven {
		return s.meter.Key(addr, "").Prefix == prefix
	}
	return true
}

// countFallsTo returns the instant at which the count of an address is at most n, if nothing
// more comes; it is in the past if the count is that low already. least is for the fleet's
// count as far as it is proven, most for all of it that this node was told. with are the attributes of the key.
func (d *Detector) countFallsTo(s *source, addr netip.Addr, with string, sec, n uint32) (least, most time.Time) {
	now := s.meter.slotAt(sec)
	if !s.fleet || d.config.Until == nil {
		least = s.meter.startOfSlot(now + s.table.Until(addr, with, now, n))
		return least, least
	}
	question := d.questions.borrow()
	question.op = shard.Op{Addr: addr, Now: now, Slot: now}
	question.op.With = unsafetext.String(append(question.text[:0], with...))
	from, to := d.config.Until(s.meter.index, &question.op, n)
	question.op = shard.Op{}
	d.questions.pool.Put(question)
	return s.meter.startOfSlot(now + from), s.meter.startOfSlot(now + to)
}

// strongerBlock finds among the blocks that cover prefix the one that stays when r
// crosses there: by is of the same rule, an operator's, or as long as r would make
// it. Otherwise old is the block of exactly this prefix, which r replaces; nil if
// there is none. This asks for more than [blocklist.List.Covers]: a weaker block
// covers the prefix too, and does not stop r.
func (d *Detector) strongerBlock(now time.Time, r *rule, prefix netip.Prefix) (by, old *edgeguard.Block) {
	around := d.config.List.Around(now, prefix)
	if len(around) == 0 {
		return nil, nil
	}
	length := r.Blocked(d.escalationStep(now, r, prefix).Blocks - 1)
	for i := range around {
		b := &around[i]
		if b.Rule == r.Name || d.madeLength(b) >= length {
			return b, nil
		}
		if b.Prefix == prefix {
			if b.Rule == edgeguard.ManualRule || d.config.List.Trust(prefix).Forced {
				return b, nil
			}
			old = b
		}
	}
	return nil, old
}

// madeLength is the length with which a block was made, as far as it can be told: one
// of a while_over rule may have been extended, and was made with the longest of the
// rule's lengths that it can have had. By its end two rules whose counts both go on
// would replace each other's blocks with every request.
func (d *Detector) madeLength(b *edgeguard.Block) time.Duration {
	length := b.Until.Sub(b.Since)
	i, known := d.named[b.Rule]
	if !known || !d.rules[i].WhileOver {
		return length
	}
	r := &d.rules[i]
	for n := len(r.Escalate); n > 0; n-- {
		if made := r.Blocked(n); made <= length {
			return made
		}
	}
	return r.BlockFor
}

// extendBlock keeps the block of a while_over rule until the count will have fallen to
// the limit, if nothing more comes. What comes is counted, though it is denied, and
// moves that on: by one slot for each that passes, and up to a window at first. The
// version stays: each node of a fleet extends the block by what it counts itself, and of
// one version the latest end stands, so that no node's extension ends another's sooner.
func (l *listed) extendBlock(r *rule, prefix netip.Prefix) {
	source := l.d.source(r, prefix)
	m := source.meter
	old := l.block
	if old.Prefix.Bits() > prefix.Bits() {
		if old = l.d.config.List.BlockOf(l.now, prefix); old == nil {
			return
		}
	}
	if old.Rule != r.Name || old.Prefix != prefix || !old.Until.Before(m.startOfSlot(m.slotAt(l.nowSec)+ring.Slots)) {
		return // not its own, or no later end is possible
	}
	block := *old
	block.Until, _ = l.d.countFallsTo(&source, l.event.Addr, "", l.nowSec, source.limit)
	if !block.Until.After(old.Until) || l.d.config.List.Trust(prefix).Forced {
		return
	}
	if changed, err := l.d.config.List.Merge(block, l.now); err != nil || !changed {
		return
	}
	l.d.steps.prolong(r.Name, prefix, block.Until)
	l.effect = max(l.effect, extendedBlock)
	l.askLists()
}

// retryAfterBlock is how long until one more event like this one, or of cost 1, would be let
// through, if nothing else came: until the active block has ended, and, for a client that
// waits, until this node's own count of the rule that made it leaves room. A block by hand
// has no count, and ends with itself.
func (l *listed) retryAfterBlock() time.Duration {
	d, b, addr := l.d, l.block, l.event.Addr
	end := b.Until.Sub(l.now)
	if l.audience != forClient || end >= d.longest {
		return end // what is counted by now has left every window by then
	}
	i, known := d.named[b.Rule]
	if !known {
		return end
	}
	r := &d.rules[i]
	source := d.source(r, b.Prefix)
	if end >= source.meter.Window || r.Action != edgeguard.ActionBlock || !source.blocksByPrefix(addr, b.Prefix) {
		return end // or is not what was blocked for
	}
	cost := l.costOf(source.meter)
	if source.table != source.meter.proven {
		cost = min(cost, source.meter.share) // a key adds no more to the networks around it
	}
	room := source.limit - min(source.limit, cost)
	_, most := d.countFallsTo(&source, addr, "", seconds(l.now), room)
	return max(end, most.Sub(l.now))
}

// costOf is what the event costs a meter, and 1 if the meter does not count it.
func (o *occasion) costOf(m *meter) uint32 {
	if cost, ok := m.Match(o.event); ok {
		return m.costOfRepeat(uint32(cost), o.eventSec == o.nowSec)
	}
	return 1
}
