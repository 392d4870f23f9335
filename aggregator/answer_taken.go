package aggregator

import (
	"math"
	"time"

	"edgeguard/ring"
)

// watchAgainAfter is after how many slots the fleet is asked again to watch a
// key: a quarter of a window, so that a node that missed the first request
// learns of it in time.
const watchAgainAfter = ring.Slots / 4

// Outcome is what follows from an answer. Several may apply together.
type Outcome struct {
	// Again: push all slots of the key immediately ([Totals.FullPush]). It is
	// not set twice in a row: where a full push was not stored in full, the
	// next Collect tries again.
	Again bool
	// Watch: ask the fleet to watch the key, of which the total is near the limit or
	// has just crossed it.
	Watch bool
	// WatchLater: the same, but another node's push has brought the total there, which
	// asks. Ask if it has not ([Totals.AskWatch]).
	WatchLater bool
	// Over: the peak is over the lowest limit of the meter's rules, and this node has
	// counted some of it. Nothing follows before the split proves it (see [Totals.Prove]).
	// A node that has counted nothing has no evidence of its own: it has the other nodes'
	// records, which are weighed.
	Over bool
	// Crossed: it may be this push that brought the peak over that limit. So this node
	// proves it at once, and the others only if no block has come from it.
	Crossed bool
	// Renew: a rule acts at each event while the total is over its limit, of the others'
	// part less is proven in the present slot than Redis has, and by what is proven the
	// key is soon below the limit.
	Renew bool
	// Forget, if not 0, is a cleared-before mark that Redis does not have: the
	// slots below it were forgotten here by an unblock, and Redis still counts
	// them. Forget the key there, then push all its slots.
	Forget uint32
	// More: of what Redis holds in this node's name, only the push's Sum is this
	// node's, as far as this answer shows. Forged: so it is.
	More, Forged bool
	// Floor, if not 0, is a cleared-before mark in Redis that no unblock known
	// here explains, of the time since the node joined: of older ones, a later
	// block may have taken the record's place. It is not taken, and the node goes
	// on pushing all slots. If no unblock explains it soon, somebody else wrote it.
	Floor uint32
}

// lateSlots is how far a mark may lie ahead of a push: an unblock of another node
// is made while the push is under way, by a clock that differs by some seconds.
const lateSlots = 8

// Answered applies the answer to a push and returns what follows from it.
// Nothing follows for a key that was forgotten since the push: the answer may
// include counts that no longer apply. now is local time.
func (n *Totals) Answered(p *Push, a Answer, now time.Time) Outcome {
	n.answered.Add(1)
	if a.Status&StatusRefused != 0 {
		n.refused.Add(1)
	}
	id, ok := n.suspectOf(p.Key)
	if !ok {
		return Outcome{}
	}
	m := &n.meters[id.meter]
	out, known := n.apply(id, m, p, a)
	if known && (out.Watch || out.WatchLater) {
		n.watch(id, m.slotAt(now), out.Watch)
	}
	if known && out.Watch {
		n.watchesSent.Add(1)
	}
	return out
}

// apply applies an answer under the lock of the suspect's part.
func (n *Totals) apply(id suspectID, m *meter, p *Push, a Answer) (out Outcome, known bool) {
	// The answer may be to an old push while its total includes newer ones. So the
	// others' part is the total less all that is counted here by now, restored
	// counts included: it may be too low, never too high.
	counts, head, here := m.readSlots(id, p.head)
	part := n.partOf(id)
	part.mu.Lock()
	defer part.mu.Unlock()
	s, known := part.known[id]
	if !known {
		return out, false
	}
	if floor := n.localSlot(m, a.ClearedBefore); a.Status&StatusCleared != 0 {
		if n.explained(id, m, floor, p.head) {
			s.clearedBefore = max(s.clearedBefore, floor)
		} else {
			out.Floor = a.ClearedBefore
		}
	}
	out.More = n.holdsMore(&s, m, p, a)
	// After an unblock it may be what the detector forgot. It does not count, but
	// nobody forged it.
	out.Forged = out.More && p.sent == s.sent && !within(n.emptied.markOf(id), p.head)
	s.rank = p.Sum
	n.countRequest(p, a)
	switch {
	case a.Status&StatusSendFull != 0:
		n.fullRequested.Add(1)
		s.acked, s.compared, s.base = 0, false, base{}
		part.markUrgent(id, &s)
		out.Again = !p.Full
	case p.sent == s.sent:
		s.acked, s.waiting, s.compared = max(s.acked, p.head), false, !m.partial(p.head)
		if a.Status&(StatusRefused|StatusCleared) == 0 && s.compared {
			s.base = p.base
		}
	default:
		// The answer to an older push says nothing of the newest, which may be
		// lost, or of what Redis stored and then lost.
	}
	// If Redis' mark is below the one here, it does not have an unblock yet or was
	// set back behind it. The peak may be of a window that has ended.
	if s.clearedBefore > n.localSlot(m, a.ClearedBefore) && int64(s.clearedBefore) > int64(p.head)-Kept {
		s.base = base{}
		out.Forget = uint32(int64(s.clearedBefore) + n.epochOffset(m))
	} else {
		s.restAt = 0
		part.doubt(id, p, a)
		if here && head == p.head {
			own := (*ring.Counts)(&counts).Sum()
			n.takeRest(part, id, &s, p, own, a.Total)
			out.Renew = own+s.rest > m.Renews && s.renews((*ring.Counts)(&counts), n.remainder(part, id), m.Renews, p.head)
		}
		out.Over = a.Peak > m.Limit && p.Sum > 0
		out.Crossed = p.crosses(a.Peak, m.Limit)
		out.Watch, out.WatchLater = n.asks(&s, m, p, a.Peak)
	}
	part.known[id] = s
	return out, true
}

// asks reports whether the fleet is to be asked to watch a key, and remembers it. A
// reconcile of nothing asks nobody: a watch was its cause. The node whose push brought the
// total near the limit asks now, the others later, if nobody has. Nodes whose last push came
// before the limit was crossed do not know that it was: so that their own counts prove
// it there, too, they are asked once more by the node whose push crossed.
func (n *Totals) asks(s *suspect, m *meter, p *Push, peak uint32) (now, later bool) {
	crossed := !s.told && p.crosses(peak, m.Limit)
	s.told = peak > m.Limit && (s.told || crossed)
	nearly := n.nearly(m)
	if peak < nearly || p.Sum == 0 {
		return false, false
	}
	lacks := s.lacksWatch(p.head)
	now = crossed || lacks && (nearly == 0 || p.crosses(peak, nearly-1))
	return now, lacks && !now
}

// lacksWatch reports whether nobody has asked the fleet lately to watch a key.
func (s *suspect) lacksWatch(slot uint32) bool {
	return s.watchSent == 0 || slot >= s.watchSent+watchAgainAfter
}

// AskWatch reports whether the fleet is still to be asked to watch a key, and remembers
// that it is asked. now is local time.
func (n *Totals) AskWatch(k Key, now time.Time) bool {
	id, ok := n.suspectOf(k)
	if !ok {
		return false
	}
	slot, part := n.meters[id.meter].slotAt(now), n.partOf(id)
	part.mu.Lock()
	s, known := part.known[id]
	part.mu.Unlock()
	if !known || !s.lacksWatch(slot) {
		return false
	}
	n.watchesSent.Add(1)
	return n.watch(id, slot, true)
}

// explained reports whether an unblock explains a mark in Redis.
func (n *Totals) explained(id suspectID, m *meter, floor, head uint32) bool {
	// Marks move with the clock. One that lies ahead of all that is counted is no
	// unblock's: it would keep the key from being pushed for ever.
	unsure := m.partial(head) && int64(floor) <= int64(head)+lateSlots
	return floor <= n.cleared.markOf(id) || floor <= m.joined.Load()+1 || unsure
}

// countRequest counts what shows whether Redis has lost most of what it had.
// Answers with refused slots are left out: they ask for a full push for a
// reason of their own.
func (n *Totals) countRequest(p *Push, a Answer) {
	if p.Full || a.Status&StatusRefused != 0 {
		return
	}
	n.partial.Add(1)
	if a.Status&StatusSendFull != 0 {
		n.fullWanted.Add(1)
	}
}

// nearly returns the least total that leaves no more room below the limit than the
// nodes may hold unreported. This applies without Quiet, too: what was counted since
// the last pushes is unreported for up to an interval.
func (n *Totals) nearly(m *meter) uint32 {
	return uint32(math.Ceil(max((1-n.config.Share)*float64(m.Limit)-1e-9, 0)))
}

// Watch records that the fleet watches a key. From now on every count of the
// key is pushed for a window, however small, and this node does not ask for the same
// soon: else each node's request had all nodes push once more. It returns what this node has not
// yet pushed of the key, or a reconcile if it has pushed everything, since
// Redis must have it now. If it has nothing, the reconcile shows whether
// somebody pushed in its name. False: it has no such key, or no room for it.
// now is local time.
func (n *Totals) Watch(k Key, now time.Time) (Push, bool) {
	id, ok := n.suspectOf(k)
	if !ok {
		return Push{}, false
	}
	n.watchesReceived.Add(1)
	if !n.watch(id, n.meters[id.meter].slotAt(now), true) {
		return Push{}, false
	}
	return n.pushOne(id, now, sumOnly)
}

// WatchLater is [Totals.Watch] for a key that cannot be pushed now: the next Collect does.
// It takes no memory but the suspect's.
func (n *Totals) WatchLater(k Key, now time.Time) {
	id, ok := n.suspectOf(k)
	if !ok {
		return
	}
	n.watchesReceived.Add(1)
	if !n.watch(id, n.meters[id.meter].slotAt(now), true) {
		return
	}
	part := n.partOf(id)
	part.mu.Lock()
	defer part.mu.Unlock()
	if s, known := part.known[id]; known {
		part.markUrgent(id, &s)
		part.known[id] = s
	}
}

// watch marks a key as watched for a window from slot on, asked says by the fleet too;
// false if there is no room for it.
func (n *Totals) watch(id suspectID, slot uint32, asked bool) bool {
	n.watching.Lock()
	defer n.watching.Unlock()
	part := n.partOf(id)
	part.mu.Lock()
	defer part.mu.Unlock()
	s, known := part.known[id]
	fresh := s.watchedUntil == 0
	s.watchedUntil = max(s.watchedUntil, slot+ring.Slots)
	if asked {
		s.watchSent = max(s.watchSent, slot)
	}
	if !known && !n.admit(part, id, &s, 0) {
		return false
	}
	if fresh {
		n.watched.Load().add(n.hashSuspect(id))
	}
	if s.acked == 0 {
		part.markUrgent(id, &s)
	}
	part.known[id] = s
	return true
}
