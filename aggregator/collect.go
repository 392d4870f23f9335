package aggregator

import (
	"sync/atomic"
	"time"

	"edgeguard/shard"
)

// Collect returns what is to be pushed: the suspects that have changed since
// the last call, those whose last push was not answered, or, if whole, all of
// them and all that they have. A push holds what changed since the last that
// was answered. now is local time.
func (n *Node) Collect(now time.Time, whole bool) []Push {
	if n.scan.Swap(false) {
		n.scanTables(now)
	}
	var out []Push
	var room []uint16
	var ids []suspectID
	var taken []suspect
	for i := range n.suspects {
		ids, taken = n.suspects[i].take(ids[:0], taken[:0], &n.sent, whole)
		for j, id := range ids {
			var p Push
			var ok bool
			if p, room, ok = n.build(id, &taken[j], now, whole, room); ok {
				out = append(out, p)
			}
		}
	}
	n.pushed.Add(uint64(len(out)))
	return out
}

// take returns the suspects to be pushed, as they are now, each with the next
// number of sent. The rings are read later, without the lock: what is counted
// from now on marks them again.
func (p *suspects) take(ids []suspectID, taken []suspect, sent *atomic.Uint32, all bool) ([]suspectID, []suspect) {
	p.mu.Lock()
	defer p.mu.Unlock()
	send := func(id suspectID, s suspect) {
		s.dirty, s.waiting, s.listed, s.sent = false, true, true, sent.Add(1)
		p.known[id] = s
		ids, taken = append(ids, id), append(taken, s)
	}
	if all {
		for id, s := range p.known {
			send(id, s)
		}
		p.list = append(p.list[:0], ids...)
		return ids, taken
	}
	left := p.list[:0]
	for _, id := range p.list {
		switch s, known := p.known[id]; {
		case !known:
		case s.dirty || s.waiting:
			send(id, s)
			left = append(left, id)
		default:
			s.listed = false
			p.known[id] = s
		}
	}
	p.list = left
	return ids, taken
}

// scanTables makes suspects of the keys that have a share without an event
// having shown it: the share has become less.
func (n *Node) scanTables(now time.Time) {
	for i := range n.meters {
		n.scanTable(i, now)
	}
}

// scanTable makes suspects of the keys of one meter that have a share.
func (n *Node) scanTable(meter int, now time.Time) {
	m := &n.meters[meter]
	if m.Limit == 0 {
		return
	}
	m.Table.Each(m.slot(now), func(e shard.Entry) bool {
		if e.Count < m.share.Load() {
			return true
		}
		id := newSuspectID(meter, e.Key.Prefix, e.With)
		p := n.part(id)
		p.mu.Lock()
		defer p.mu.Unlock()
		if s, known := p.known[id]; known || n.admit(id, &s) {
			p.mark(id, &s)
			p.known[id] = s
		}
		return true
	})
}

// Whole returns all that this node has to say of a key, false if that is
// nothing. now is local time.
func (n *Node) Whole(k Key, now time.Time) (Push, bool) {
	id, ok := n.id(k)
	if !ok {
		return Push{}, false
	}
	part := n.part(id)
	part.mu.Lock()
	s, known := part.known[id]
	if known {
		part.enlist(id, &s)
		s.waiting, s.sent = true, n.sent.Add(1)
		part.known[id] = s
	}
	part.mu.Unlock()
	if !known {
		return Push{}, false
	}
	p, _, ok := n.build(id, &s, now, true, nil)
	if ok {
		n.pushed.Add(1)
	}
	return p, ok
}

// Lost is to be called after a reconnect: what was acknowledged may be gone, so
// that the next Collect pushes everything, and whole.
func (n *Node) Lost() {
	for i := range n.suspects {
		p := &n.suspects[i]
		p.mu.Lock()
		for id, s := range p.known {
			s.acked, s.told = 0, 0 // what was told to watch may be lost, too
			p.mark(id, &s)
			p.known[id] = s
		}
		p.mu.Unlock()
	}
}
