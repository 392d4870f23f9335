package aggregator

import (
	"sync"
	"time"
)

// A node that has seen nothing of a client lately knows nothing of what the others counted,
// and lets it pass until its next round. Where the fleet watches the key, its total is near
// the limit: so a rule that acts at each event has it pushed at once. The watch is what bounds
// this: a key that is new here, as each visitor's is, does not hurry by itself.

// mostUrgent is how many keys wait for an urgent push. More go with the next round.
const mostUrgent = 256

// urgent has the keys that are to be pushed before the next round, each once.
type urgent struct {
	news chan struct{} // there are some

	mu   sync.Mutex // guards keys; may be taken with a part's lock held
	keys []suspectID
}

// add reports false if there is no room.
func (u *urgent) add(id suspectID) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.keys) >= mostUrgent {
		return false
	}
	u.keys = append(u.keys, id)
	select {
	case u.news <- struct{}{}:
	default:
	}
	return true
}

// takeFirst removes and returns the first keys, at most most, and whether there are more.
func (u *urgent) takeFirst(most int) (taken []suspectID, more bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	n := min(most, len(u.keys))
	taken = u.keys[:n:n]
	if u.keys = u.keys[n:]; len(u.keys) == 0 {
		u.keys = nil
	}
	return taken, len(u.keys) > 0
}

// hurries reports whether an event of a key that counts rest of the others passes because
// nothing was heard of them in its slot, though the fleet watches the key.
func (s *suspect) hurries(m *meter, count, rest, slot uint32) bool {
	return m.Renews > 0 && s.watchedUntil > slot && s.restAt != slot && !s.waiting && !s.hurried && count+rest <= m.Renews
}

// Urgent is where the node hears that keys are to be pushed before the next round.
func (n *Totals) Urgent() <-chan struct{} { return n.urgent.news }

// CollectUrgent returns the pushes of at most most keys that are urgent, and whether there
// are more. now is local time.
func (n *Totals) CollectUrgent(now time.Time, most int) (pushes []Push, more bool) {
	ids, more := n.urgent.takeFirst(most)
	for _, id := range ids {
		part := n.partOf(id)
		part.mu.Lock()
		s := part.known[id]
		part.mu.Unlock()
		if !s.dirty {
			continue // a round has pushed it
		}
		if p, ok := n.pushOne(id, now, changesOnly); ok {
			pushes = append(pushes, p)
		}
	}
	return pushes, more
}
