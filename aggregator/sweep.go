package aggregator

import (
	"slices"
	"time"

	"edgeguard/ring"
)

// Sweep drops the suspects whose counts have left the window, watches that have
// ended, and cleared-before marks that no slot is below. now is local time. The
// rings are read without a lock.
func (n *Totals) Sweep(now time.Time) {
	for i := range n.meters {
		if m := &n.meters[i]; m.Limit > 0 {
			m.noteLoss(m.slotAt(now))
		}
	}
	for _, marks := range []*cleared{&n.cleared, &n.emptied} {
		marks.sweep(func(meter uint16) uint32 { return n.meters[meter].slotAt(now) })
	}
	for i := range n.suspects {
		n.sweepPart(&n.suspects[i], now)
	}
	n.rebuildWatched()
}

func (n *Totals) sweepPart(p *suspects, now time.Time) {
	var idle []suspectID
	p.mu.Lock()
	for id, s := range p.known {
		slot := n.meters[id.meter].slotAt(now)
		if s.watchedUntil != 0 && s.watchedUntil <= slot {
			s.watchedUntil = 0
			p.known[id] = s
		}
		if s.watchedUntil == 0 && int64(s.acked) <= int64(slot)-ring.Slots {
			idle = append(idle, id)
		}
	}
	for id, f := range p.remainders {
		if f.head+ring.Slots <= n.meters[id.meter].slotAt(now) {
			delete(p.remainders, id)
		}
	}
	p.mu.Unlock()
	idle = slices.DeleteFunc(idle, func(id suspectID) bool { return n.counts(id, now) })
	if len(idle) == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, id := range idle {
		// If it is marked, it may have counted since its ring was read.
		if s := p.known[id]; s.watchedUntil == 0 && (!s.dirty || !n.counts(id, now)) {
			n.dropSuspect(p, id)
		}
	}
	p.rebuildList()
}

// counts reports whether a key has counts in the window.
func (n *Totals) counts(id suspectID, now time.Time) bool {
	m := &n.meters[id.meter]
	counts, _ := m.Table.RingOf(id.entry(), m.slotAt(now))
	return counts != [ring.Slots]uint16{}
}

// dropSuspect removes a suspect. The caller holds the lock, and tidies the list.
func (n *Totals) dropSuspect(p *suspects, id suspectID) {
	if _, known := p.known[id]; known {
		delete(p.known, id)
		delete(p.remainders, id)
		n.size.Add(-1)
	}
}

// rebuildList rebuilds the list from the known suspects, each once.
func (p *suspects) rebuildList() {
	p.list, p.stale = p.list[:0], false
	for id, s := range p.known {
		if s.listed {
			p.list = append(p.list, id)
		}
	}
}

// rebuildWatched rebuilds the filter. The lock keeps additions out.
func (n *Totals) rebuildWatched() {
	n.watching.Lock()
	defer n.watching.Unlock()
	if n.watched.Load().count.Load() == 0 {
		return
	}
	fresh := new(watchFilter)
	for i := range n.suspects {
		p := &n.suspects[i]
		p.mu.Lock()
		for id, s := range p.known {
			if s.watchedUntil != 0 {
				fresh.add(n.hashSuspect(id))
			}
		}
		p.mu.Unlock()
	}
	n.watched.Store(fresh)
}
