package aggregator

// sampled is how many suspects of a part are looked at to find one of low rank.
const sampled = 8

// admit makes room for a new suspect and reports whether there was any. rank is
// its count. The caller holds the lock of its part p.
//
// A flood of fresh addresses would fill all room, and whoever came first would
// keep it. So a newcomer replaces the lowest of a few suspects if that ranks
// lower: the addresses of a flood rank low, and an offender does not for long.
// What was pushed of an evicted suspect stays in Redis until it expires; if the
// key returns, all its slots are pushed.
func (n *Totals) admit(p *suspects, id suspectID, s *suspect, rank uint32) bool {
	if n.size.Add(1) > int64(n.config.MaxSuspects) {
		n.size.Add(-1)
		if !p.displace(rank, s.watchedUntil != 0) {
			n.heldBack.Add(1)
			return false
		}
		n.displaced.Add(1)
	}
	s.clearedBefore, s.rank = max(s.clearedBefore, n.cleared.markOf(id)), rank
	return true
}

// displace removes the lowest of a few suspects, if it ranks below rank or if
// the newcomer is watched. Watched suspects stay. Go starts to iterate over a
// map at a random place, so its first entries are a sample. The caller holds
// the lock.
func (p *suspects) displace(rank uint32, watched bool) bool {
	var lowest suspectID
	looked, found := 0, false
	for id, s := range p.known {
		lower := s.rank < rank || watched && !found || found && s.rank == rank && id.sortsBefore(lowest)
		if s.watchedUntil == 0 && lower {
			lowest, rank, found = id, s.rank, true
		}
		if looked++; looked == sampled {
			break
		}
	}
	if !found {
		return false
	}
	delete(p.known, lowest)
	delete(p.remainders, lowest)
	p.stale = true
	if len(p.list) > 2*len(p.known)+sampled {
		p.rebuildList() // Collect does not run while Redis is away
	}
	return true
}
