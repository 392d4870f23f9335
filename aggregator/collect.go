package aggregator

import (
	"iter"
	"time"

	"edgeguard/shard"
)

// Collect yields what is to be pushed, about most pushes at a time. It covers
// the suspects that changed since the last call, unless they are held back, and
// those whose last push was not answered; a push holds what changed since the last answered one. When
// answers show that Redis has lost most of what it had, the next pushes are
// full. Pushes that the caller does not ask for are not lost. now is local
// time.
func (n *Totals) Collect(now time.Time, most int) iter.Seq[[]Push] {
	return func(yield func([]Push) bool) {
		if n.rejoined.Swap(false) {
			for i := range n.meters {
				n.meters[i].joined.Store(n.meters[i].slotAt(now))
			}
		}
		if n.scan.Swap(false) {
			n.scanTables(now)
		}
		n.urgent.takeFirst(mostUrgent) // they go with the others
		var ids []suspectID
		var taken []suspect
		var out []Push
		var room []uint16
		for i := range n.suspects {
			lossy := n.lossy(now, len(out) == 0)
			ids, taken = n.take(&n.suspects[i], now, ids[:0], taken[:0])
			for j, id := range ids {
				as := changesOnly
				if lossy && !taken[j].compared {
					as = fullPush
				}
				var p Push
				var ok bool
				if p, room, ok = n.build(id, &taken[j], now, as, room); ok {
					out = append(out, p)
				}
			}
			if len(out) >= most || len(out) > 0 && i == parts-1 {
				n.pushed.Add(uint64(len(out)))
				if !yield(out) {
					return
				}
				out, room = nil, nil
			}
		}
	}
}

// lossy reports whether Redis has lost most of what it had, so that suspects
// not compared since are pushed in full. look says that every push made so far
// has been answered.
func (n *Totals) lossy(now time.Time, look bool) bool {
	n.reconciler.mu.Lock()
	defer n.reconciler.mu.Unlock()
	if look {
		n.detectLoss(now)
	}
	return n.reconciler.full
}

// take returns the suspects of a part to push, as they are now, each with the
// next push number, without those that are held back. The rings are read later,
// without the lock: what is counted from now on marks them again.
func (n *Totals) take(p *suspects, now time.Time, ids []suspectID, taken []suspect) ([]suspectID, []suspect) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stale {
		p.rebuildList()
	}
	left := p.list[:0]
	for _, id := range p.list {
		switch s, known := p.known[id]; {
		case !known:
		case s.dirty && n.holds(&s, n.meters[id.meter].slotAt(now)):
			left = append(left, id)
		case s.dirty || s.waiting:
			p.noteSent(id, &s, &n.sent)
			ids, taken = append(ids, id), append(taken, s)
			left = append(left, id)
		default:
			s.listed = false
			p.known[id] = s
		}
	}
	p.list = left
	return ids, taken
}

// scanTables makes suspects of the keys that reach the share without a new
// event: the share has become lower.
func (n *Totals) scanTables(now time.Time) {
	for i := range n.meters {
		n.scanTable(i, now)
	}
}

// scanTable makes suspects of the keys of one meter that reach its share.
func (n *Totals) scanTable(meter int, now time.Time) {
	m := &n.meters[meter]
	if m.Limit == 0 {
		return
	}
	reaches := func(count uint32) bool { return count >= m.share.Load() }
	m.Table.Where(m.slotAt(now), reaches, func(e shard.Entry) bool {
		id := newSuspectID(meter, m.prefix(e.Key.Prefix.Addr()), e.With)
		p := n.partOf(id)
		p.mu.Lock()
		defer p.mu.Unlock()
		if s, known := p.known[id]; known || n.admit(p, id, &s, e.Count) {
			p.markUrgent(id, &s)
			p.known[id] = s
		}
		return true
	})
}

// FullPush returns a push of all that this node may push of a key, false if
// that is nothing. now is local time.
func (n *Totals) FullPush(k Key, now time.Time) (Push, bool) {
	id, ok := n.suspectOf(k)
	if !ok {
		return Push{}, false
	}
	return n.pushOne(id, now, fullPush)
}

// pushOne makes the push of one suspect. If a reconcile was asked for and the
// suspect has changed, the changes are pushed instead; if it has no counts, that
// is what the reconcile claims.
func (n *Totals) pushOne(id suspectID, now time.Time, as form) (Push, bool) {
	part := n.partOf(id)
	asked := as
	part.mu.Lock()
	s, known := part.known[id]
	if known {
		if as == sumOnly && (s.dirty || s.waiting) {
			as = changesOnly
		}
		part.noteSent(id, &s, &n.sent)
	}
	part.mu.Unlock()
	if !known {
		return Push{}, false
	}
	p, _, ok := n.build(id, &s, now, as, nil)
	if !ok && asked == sumOnly {
		p, ok = n.nothing(id, &s, now)
	}
	if ok {
		n.pushed.Add(1)
	}
	return p, ok
}
