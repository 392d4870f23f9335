package aggregator

import (
	"sync"
	"sync/atomic"
	"time"
)

// ReconcileEvery is the time within which every suspect is compared with what
// Redis stores of it: by the answer to a push or, without a push, to a
// reconcile.
const ReconcileEvery = 30 * time.Second

// visitEvery is the time from one part of the suspects to the next. A suspect
// that was compared since the last visit is skipped, so two rounds of visits
// and a few of pushes must fit into ReconcileEvery.
const visitEvery = (ReconcileEvery/2 - time.Second) / parts

// lossSeen is how many answers at least must ask for a full push before Redis
// counts as having lost most of what it had. They must also be the majority.
const lossSeen = 4

// reconciler is how far a node is with finding out what Redis has lost. A
// reconcile is a push of one empty slot, the head, with the node's own sum.
// Redis never stores more of a node than the node has, slot by slot: a slot
// only grows, merging takes the maximum, and going back in time only loses. So
// equal sums mean equal rings, and a lower one is answered with
// [StatusSendFull], as for any push.
//
// An emptied Redis answers every push so. Where most answers do, the rest is
// pushed in full unasked.
type reconciler struct {
	mu    sync.Mutex  // guards the fields below and the order of reconciles; taken before any part's
	at    int         // the part to visit next
	due   int         // how many parts are to be visited now
	left  []suspectID // of those visited, still to be reconciled
	last  time.Time   // up to when visits have become due
	all   bool        // all are being reconciled: something may be lost
	full  bool        // most is lost: what is left is pushed in full
	found time.Time   // when that was last found without a reconnect
}

// Reconcile returns at most most pushes of the suspects due to be compared with
// what Redis stores, and whether more are due: one part after another as time
// passes or, after [Totals.ReconcileAll], all. Call it after [Totals.Collect], whose
// pushes are compared as well. now is local time.
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
		s, ok := n.partOf(id).sendReconcile(id, &n.sent)
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

// pass makes visits due as time passes, never more than one of each part.
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

// detectLoss has everything pushed in full if most pushes since the last call
// were answered with a request for it. Without a reconnect it does so at most
// once in ReconcileEvery, since a node whose events come late is always asked
// for more.
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

// reconcileAll makes every part due now, with no suspect skipped. The caller
// holds the reconciler's lock.
func (n *Totals) reconcileAll() {
	n.reconciler.all, n.reconciler.full = true, false
	n.reconciler.due, n.reconciler.left = parts, n.reconciler.left[:0]
	for i := range n.suspects {
		p := &n.suspects[i]
		p.mu.Lock()
		for id, s := range p.known {
			s.compared, s.watchSent, s.base = false, 0, base{} // the request to watch may be lost, too
			p.known[id] = s
		}
		p.mu.Unlock()
	}
}

// ReconcileAll is called after a reconnect: what was stored may be lost, so Reconcile
// goes through all suspects without waiting.
func (n *Totals) ReconcileAll() {
	n.rejoined.Store(true)
	n.reconciler.mu.Lock()
	defer n.reconciler.mu.Unlock()
	n.reconcileAll()
}

// visit returns the suspects of a part that were not compared since the last
// visit. Those that have changed or were not answered are Collect's: if they
// are held back for that long, it compares them by their push.
func (p *suspects) visit(ids []suspectID) []suspectID {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, s := range p.known {
		switch {
		case s.waiting:
		case s.dirty:
			if !s.compared { // Collect pushes it, and holds nothing back
				s.due = true
			}
			s.compared = false
			p.known[id] = s
		case s.compared:
			s.compared = false
			p.known[id] = s
		default:
			ids = append(ids, id)
		}
	}
	return ids
}

// sendReconcile records that a suspect is being reconciled; false if that is no
// longer needed.
func (p *suspects) sendReconcile(id suspectID, sent *atomic.Uint32) (suspect, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, known := p.known[id]
	if !known || s.dirty || s.waiting || s.compared {
		return s, false
	}
	p.noteSent(id, &s, sent)
	return s, true
}
