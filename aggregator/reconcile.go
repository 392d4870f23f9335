package aggregator

import (
	"sync"
	"sync/atomic"
	"time"
)

// OfferEvery is within which time every suspect is compared with what Redis
// holds of it: by the answer to a push or, for want of one, to an offer.
const ReconcileEvery = 30 * time.Second

// visitEvery is the time from one part of the suspects to the next. Whoever was
// compared since the last visit is passed over, so that two rounds of visits,
// and a few of pushes, must fit into OfferEvery.
const visitEvery = (ReconcileEvery/2 - time.Second) / parts

// lossSeen is the least number of pushes wanted whole that says that Redis has
// lost most of what it had, where they are most of those asked about.
const lossSeen = 4

// offers is how far a node is with finding out what Redis has lost. An offer is
// a push of one empty slot, the head, with the node's own sum. What is stored of
// a node is never more than the node has, slot by slot (a slot only grows,
// merging is by maximum, and to go back in time only loses), so that equal sums
// are equal rings, and a lesser one is answered with "whole", as to any push.
//
// A Redis that was emptied answers so to every push. Where most were, the rest
// goes whole unasked.
//
// The lock keeps offers in order; it is taken before any part's.
type reconciler struct {
	mu    sync.Mutex
	at    int         // the part to be visited next
	due   int         // how many are to be visited now
	left  []suspectID // of those visited, to be offered
	last  time.Time   // up to which visits have become due
	all   bool        // all are being offered: something may be lost
	full  bool        // most is lost: what is still to be offered goes whole
	found time.Time   // when that was last found without a reconnect
}

// Offer returns at most so many of the suspects whose turn it is to be compared
// with what Redis holds, and whether there are more: one part after the other
// as time passes or, after [Totals.Lost], all. It is to be called after
// [Totals.Collect], whose pushes are compared as well. now is local time.
func (n *Totals) Reconcile(now time.Time, most int) (pushes []Push, more bool) {
	o := &n.reconciler
	o.mu.Lock()
	defer o.mu.Unlock()
	n.detectLoss(now)
	o.pass(now)
	as := sumOnly
	if o.full {
		as = fullPush
	}
	var room []uint16
	for len(pushes) < most && o.more() {
		if len(o.left) == 0 {
			o.left = n.suspects[o.at].visit(o.left)
			o.at, o.due = (o.at+1)%parts, o.due-1
			continue
		}
		id := o.left[len(o.left)-1]
		o.left = o.left[:len(o.left)-1]
		var p Push
		s, ok := n.part(id).sendReconcile(id, &n.sent)
		if ok {
			p, room, ok = n.build(id, &s, now, as, room)
		}
		if ok {
			pushes = append(pushes, p)
		}
	}
	if !o.more() {
		o.all, o.full = false, false
	}
	n.pushed.Add(uint64(len(pushes)))
	n.reconciled.Add(uint64(len(pushes)))
	return pushes, o.more()
}

func (o *reconciler) more() bool { return len(o.left) > 0 || o.due > 0 }

// pass has visits become due as time passes, never more than one of each part.
func (o *reconciler) pass(now time.Time) {
	switch steps := int64(now.Sub(o.last) / visitEvery); {
	case steps < 0: // the clock was set back
		o.last = now
	case steps > parts:
		o.last, o.due = now, parts
	default:
		o.last = o.last.Add(time.Duration(steps) * visitEvery)
		o.due = min(parts, o.due+int(steps))
	}
}

// lookForLoss has everything go whole where most of what was pushed since the
// last call was wanted so; without a reconnect not more often than offers come
// round, since a node whose events come late is always asked for more.
func (n *Totals) detectLoss(now time.Time) {
	o := &n.reconciler
	asked, wanted := n.partial.Swap(0), n.fullWanted.Swap(0)
	if wanted < lossSeen || 2*wanted <= asked || o.full {
		return
	}
	if !o.all {
		if since := now.Sub(o.found); since >= 0 && since < ReconcileEvery {
			return
		}
		o.found = now
		n.reconcileAll()
	}
	o.full = true
}

// offerAll has every part visited now, and nobody passed over. The caller holds
// the lock of the offers.
func (n *Totals) reconcileAll() {
	n.reconciler.all, n.reconciler.full = true, false
	n.reconciler.due, n.reconciler.left = parts, n.reconciler.left[:0]
	for i := range n.suspects {
		p := &n.suspects[i]
		p.mu.Lock()
		for id, s := range p.known {
			s.compared, s.watchSent = false, 0 // what was told to watch may be lost, too
			p.known[id] = s
		}
		p.mu.Unlock()
	}
}

// Lost is to be called after a reconnect: what was stored may be lost, so that
// Offer goes through all suspects at once.
func (n *Totals) Lost() {
	n.reconciler.mu.Lock()
	defer n.reconciler.mu.Unlock()
	n.reconcileAll()
}

// visit returns those of a part that were not compared since the last visit.
// Of those that have changed, or were not answered, Collect makes pushes.
func (p *suspects) visit(ids []suspectID) []suspectID {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, s := range p.known {
		switch {
		case s.dirty || s.waiting:
		case s.compared:
			s.compared = false
			p.known[id] = s
		default:
			ids = append(ids, id)
		}
	}
	return ids
}

// offer notes that a suspect is offered; false if there is no need any more.
func (p *suspects) sendReconcile(id suspectID, sent *atomic.Uint32) (suspect, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, known := p.known[id]
	if !known || s.dirty || s.waiting || s.compared {
		return s, false
	}
	p.send(id, &s, sent)
	return s, true
}
