package aggregator

// takeOver takes over the suspects, the cleared-before marks and the clock of
// the Totals in use before a reload. A scan of the tables finds what that one
// marks from now on and what reaches a lower limit.
func (n *Totals) takeOver(old *Totals) {
	n.scan.Store(true)
	n.takeNodes(old)
	n.offset.Store(old.offset.Load())
	move := make(map[uint16]uint16)
	for i := range old.meters {
		if j, ok := n.index[old.meters[i].Fingerprint]; ok && n.meters[j].Limit > 0 && n.meters[j].Width == old.meters[i].Width {
			move[uint16(i)] = uint16(j)
			n.meters[j].since.Store(old.meters[i].since.Load())
			n.meters[j].stepped.Store(old.meters[i].stepped.Load())
			n.meters[j].redrawn.Store(old.meters[i].redrawn.Load())
			n.meters[j].joined.Store(old.meters[i].joined.Load())
			n.meters[j].lostAt.Store(old.meters[i].lostAt.Load())
			n.meters[j].lost.Store(old.meters[i].lost.Load())
		}
	}
	old.reconciler.mu.Lock()
	if n.reconciler.all = old.reconciler.all; n.reconciler.all {
		n.reconciler.due = parts
	}
	old.reconciler.mu.Unlock()
	n.cleared.takeOver(&old.cleared, move)
	n.emptied.takeOver(&old.emptied, move)
	for i := range old.suspects {
		p := &old.suspects[i]
		p.mu.Lock()
		for id, s := range p.known {
			f := p.remainders[id]
			if j, ok := move[id.meter]; ok {
				id.meter = j
				n.adopt(id, s, f)
			}
		}
		p.mu.Unlock()
	}
}

// adopt takes over one suspect, to be pushed again, and its remainder.
func (n *Totals) adopt(id suspectID, s suspect, f *remainder) {
	p := n.partOf(id)
	if !n.admit(p, id, &s, s.rank) {
		return
	}
	s.listed, s.compared = false, false
	p.markUrgent(id, &s)
	p.known[id] = s
	if f != nil && n.meters[id.meter].Renews > 0 {
		after := *f
		after.sent = 0 // pushes are numbered from the start again
		p.keepFloor(id, &after)
	}
	if s.watchedUntil != 0 {
		n.watched.Load().add(n.hashSuspect(id))
	}
}
