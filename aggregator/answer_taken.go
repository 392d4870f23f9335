package aggregator

import (
	"time"

	"edgeguard/ring"
)

// tellEvery is after how many slots the fleet is told again to watch a key: a
// quarter of a window, so that a node that missed it hears of it in time.
const watchAgainAfter = ring.Slots / 4

// Outcome is what follows from an answer. Several may hold at once.
type Outcome struct {
	// Again: push the key whole at once ([Totals.Whole]). It is not said twice
	// running: where a whole push was not stored whole, the next Collect tries
	// again.
	Again bool
	// Watch: tell the fleet to watch the key.
	Watch bool
	// Over: the peak is over the least limit of the meter's rules.
	Over bool
	// Forget, if not 0, is a floor that Redis has not heard of: the slots below
	// it were forgotten here by an unblock, and what Redis says of the key
	// counts them still. Forget the key there, and push it whole.
	Forget uint32
}

// Answered takes in the answer to a push and says what follows. Of a key that
// was forgotten meanwhile nothing follows: the answer may count what is not to
// be counted any more. now is local time.
func (n *Totals) Answered(p *Push, a Answer, now time.Time) Outcome {
	n.answered.Add(1)
	if a.Status&StatusRefused != 0 {
		n.refused.Add(1)
	}
	id, ok := n.id(p.Key)
	if !ok {
		return Outcome{}
	}
	m := &n.meters[id.meter]
	out, known := n.apply(id, m, p, a)
	if known && out.Watch {
		n.watchesSent.Add(1)
		n.watch(id, m.slot(now))
	}
	return out
}

// note takes an answer in under the lock of the suspect's part.
func (n *Totals) apply(id suspectID, m *meter, p *Push, a Answer) (out Outcome, known bool) {
	// The answer may be to an old push, and its total count newer ones: what the
	// others have is what is left of it when all that is counted here by now, the
	// restored included, is taken off. Less than the truth, never more.
	counts, head, here := m.read(id, p.head)
	part := n.part(id)
	part.mu.Lock()
	defer part.mu.Unlock()
	s, known := part.known[id]
	if !known {
		return out, false
	}
	if a.Status&StatusCleared != 0 {
		s.clearedBefore = max(s.clearedBefore, n.localSlot(m, a.ClearedBefore))
	}
	s.rank = p.Sum
	n.countRequest(p, a)
	switch {
	case a.Status&StatusSendFull != 0:
		n.fullRequested.Add(1)
		s.acked, s.compared = 0, false
		part.mark(id, &s)
		out.Again = !p.Full
	case p.sent == s.sent:
		s.acked, s.waiting, s.compared = max(s.acked, p.head), false, !m.partial(p.head)
	default:
		// The answer to an older push says nothing of the newest, which may be
		// lost, nor of what was stored before Redis lost it.
	}
	// Redis has not heard of an unblock yet, or was set back behind it, if its
	// floor is below the one here. The peak may be of a window that has ended.
	if s.clearedBefore > n.localSlot(m, a.ClearedBefore) && int64(s.clearedBefore) > int64(p.head)-Kept {
		out.Forget = uint32(int64(s.clearedBefore) + n.epochOffset(m))
	} else {
		s.restAt = 0
		if here && head == p.head {
			own := (*ring.Counts)(&counts).Sum()
			s.rest, s.restAt = a.Total-min(a.Total, own), p.head
		}
		out.Over = a.Peak > m.Limit
		if n.near(m, a.Peak) && (s.watchSent == 0 || p.head >= s.watchSent+watchAgainAfter) {
			s.watchSent, out.Watch = p.head, true
		}
	}
	part.known[id] = s
	return out, true
}

// weigh counts what tells whether Redis has lost most of what it had. Slots that
// were refused have it ask for the whole for a reason of their own.
func (n *Totals) countRequest(p *Push, a Answer) {
	if p.Full || a.Status&StatusRefused != 0 {
		return
	}
	n.partial.Add(1)
	if a.Status&StatusSendFull != 0 {
		n.fullWanted.Add(1)
	}
}

// near reports whether what the fleet has told of a key leaves no more than what
// it may hold untold. Without Quiet, too: what was counted since the nodes' last
// pushes is untold for up to an interval, and of many nodes for nearly a whole
// one.
func (n *Totals) near(m *meter, total uint32) bool {
	return float64(total) >= (1-n.config.Share)*float64(m.Limit)-1e-9
}

// Watch takes in that the fleet watches a key. It returns what this node has not
// told of it, to be pushed at once, or an offer if it has told all, since just
// now it matters that Redis has it; false if it has nothing. Whatever is counted
// of the key from now on for a window is pushed, however little. now is local
// time.
func (n *Totals) Watch(k Key, now time.Time) (Push, bool) {
	id, ok := n.id(k)
	if !ok {
		return Push{}, false
	}
	n.watchesReceived.Add(1)
	if !n.watch(id, n.meters[id.meter].slot(now)) {
		return Push{}, false
	}
	return n.pushOne(id, now, sumOnly)
}

// watch notes that a key is watched for a window from slot on; false if there
// is no room for it.
func (n *Totals) watch(id suspectID, slot uint32) bool {
	n.watching.Lock()
	defer n.watching.Unlock()
	part := n.part(id)
	part.mu.Lock()
	defer part.mu.Unlock()
	s, known := part.known[id]
	fresh := s.watchedUntil == 0
	s.watchedUntil = max(s.watchedUntil, slot+ring.Slots)
	if !known && !n.admit(part, id, &s, 0) {
		return false
	}
	if fresh {
		n.watched.Load().add(n.hash(id))
	}
	if s.acked == 0 {
		part.mark(id, &s)
	}
	part.known[id] = s
	return true
}
