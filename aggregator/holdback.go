package aggregator

// A suspect that nobody watches is pushed again only when it has counted a share
// more: the proof of quiet needs no more than that what Redis lacks stays below
// the share. It is held back while all of this holds:
//
//   - the config is quiet, and the node does not leave;
//   - nobody watches the key, and all its slots were pushed before;
//   - its newest push was answered, neither refused nor asked for again, and is
//     of a window without a step of the clock and without an unblock;
//   - that push is of the present slot;
//   - since it was made, the key has counted less than the share. A share that
//     becomes smaller has the tables searched, which ends every wait.
//
// The base is the newest push alone. By the answer to an older one, and by one
// of an older slot, whose window has ended, more than a share went unreported.
// A new slot ends every wait, so totals that nobody watches lag by a slot at
// most.

// base is what of a suspect is known to be in Redis.
type base struct {
	told uint32 // its count when its newest push was made; 0 while that is not answered
	at   uint32 // the local slot of that push; 0: there is no base
}

// grown reports whether a key has counted a share more than its base.
func (s *suspect) grown(count, share uint32) bool { return count-min(count, s.base.told) >= share }

// holds reports whether a dirty suspect can wait. The caller holds the lock.
func (n *Totals) holds(s *suspect, slot uint32) bool {
	return n.config.Quiet && !s.due && !s.waiting && s.watchedUntil == 0 && s.acked != 0 &&
		s.base.at == slot && !n.leaving.Load()
}

// Leave ends the holding back: the next Collect pushes all that has changed.
// The node is about to leave the fleet.
func (n *Totals) Leave() { n.leaving.Store(true) }
