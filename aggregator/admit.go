package aggregator

// sampled is how many suspects of a part are looked at to find a cold one.
const sampled = 8

// admit makes room for a new suspect; false if there is none. heat is its count.
// The caller holds the lock of its part p.
//
// A flood of fresh addresses would fill all room, and who is told about last is
// who came first. So one that is hotter than the coldest of a few takes its
// place: the addresses of a flood are cold, and an offender is not for long.
// What was pushed of the displaced stays in Redis until it runs out; if it comes
// again it goes whole.
func (n *Totals) admit(p *suspects, id suspectID, s *suspect, rank uint32) bool {
	if n.size.Add(1) > int64(n.config.MaxSuspects) {
		n.size.Add(-1)
		if !p.displace(rank, s.watchedUntil != 0) {
			n.heldBack.Add(1)
			return false
		}
		n.displaced.Add(1)
	}
	s.clearedBefore, s.rank = max(s.clearedBefore, n.cleared.of(id)), rank
	return true
}

// displace takes the coldest of a few suspects out, if it is colder than heat,
// or the newcomer is watched; the watched stay. A map is read from a random
// place on, which makes its first few a sample. The caller holds the lock.
func (p *suspects) displace(rank uint32, watched bool) bool {
	var coldest suspectID
	looked, found := 0, false
	for id, s := range p.known {
		if s.watchedUntil == 0 && (s.rank < rank || watched && !found) {
			coldest, rank, found = id, s.rank, true
		}
		if looked++; looked == sampled {
			break
		}
	}
	if !found {
		return false
	}
	delete(p.known, coldest)
	p.stale = true
	if len(p.list) > 2*len(p.known)+sampled {
		p.tidy() // Collect may not come for long: Redis may be away
	}
	return true
}
