package haproxypeers

import (
	"net/netip"
	"time"

	"edgeguard/haproxy"
	"edgeguard/haproxy/peers"
)

const (
	// Again is the time in which everything is taught again, evenly: half of what
	// HAProxy keeps it, so that one that edgeguard cannot reach for as long loses nothing.
	Again = 2 * time.Minute
	// step is the shortest time between two parts of that.
	step = 250 * time.Millisecond
	// batch is how many entries Take returns where its caller has no room for more.
	batch = 4096
)

// Follower knows what one HAProxy is to be taught next. Its methods are safe for
// concurrent use.
type Follower struct {
	teacher *Teacher
	due     chan struct{}

	// The teacher's lock guards these.
	queues [turns][]int32
	queued []uint8 // by place: a bit for each queue that it is in
	at     int     // the next place to teach again
	round  time.Time
}

// NewFollower returns a follower for a connection with a HAProxy. All entries are due.
func (e *Teacher) NewFollower() *Follower {
	e.mu.Lock()
	defer e.mu.Unlock()
	f := &Follower{teacher: e, due: make(chan struct{}, 1)}
	e.followers[f] = true
	f.all()
	return f
}

// Leave ends the follower: its connection is closed.
func (f *Follower) Leave() {
	f.teacher.mu.Lock()
	defer f.teacher.mu.Unlock()
	delete(f.teacher.followers, f)
}

// Again makes all entries due: HAProxy asked for them.
func (f *Follower) Again() {
	f.teacher.mu.Lock()
	defer f.teacher.mu.Unlock()
	f.all()
}

// Due receives when something may be due before the time that Take returned.
func (f *Follower) Due() <-chan struct{} { return f.due }

// Holds notes an entry that HAProxy sent of one of the tables. One that it should not
// have is lifted: an earlier run of the node taught it.
func (f *Follower) Holds(now time.Time, table int, key netip.Addr, value uint32) {
	e := f.teacher
	e.mu.Lock()
	defer e.mu.Unlock()
	k := haproxy.BlockKey{Table: table, Addr: key.Unmap()}
	at, known := e.table.index[k]
	switch {
	case known && e.table.slots[at].value == value, !known && value == 0:
		return
	case !known:
		var ok bool
		if at, ok = e.table.foreign(k, value, now.Add(haproxy.BlockTables()[table].Expire)); !ok {
			return
		}
	}
	f.enqueue(at, e.table.slots[at].turnOf())
}

// Take returns what is due at now, as much as into has room for, and when to ask again:
// if that is not after now, more is due already.
func (f *Follower) Take(now time.Time, into []peers.Taught) (entries []peers.Taught, next time.Time) {
	e := f.teacher
	e.mu.Lock()
	defer e.mu.Unlock()
	e.expire(now)
	room := cap(into)
	if room == 0 {
		room = batch
	}
	entries = into[:0]
	for when := range f.queues {
		entries = f.changes(now, turn(when), entries, room)
	}
	if len(entries) >= room {
		return entries, now
	}
	if f.round.IsZero() {
		f.round = now
	}
	entries, next = f.walk(now, entries, room)
	if until, ok := e.ends.Soonest(); ok && until.Before(next) {
		next = until
	}
	return entries, next
}

// changes returns the entries with those of a queue. It needs the lock.
func (f *Follower) changes(now time.Time, when turn, entries []peers.Taught, room int) []peers.Taught {
	q := f.queues[when]
	for len(q) > 0 && len(entries) < room {
		at := q[0]
		q = q[1:]
		f.queued[at] &^= 1 << when
		if f.teacher.table.slots[at].used {
			entries = f.teach(now, at, entries)
		}
	}
	if len(q) == 0 {
		q = nil
	}
	f.queues[when] = q
	return entries
}

// walk returns the entries with those that are to be taught again by now, and when the
// next ones are. It needs the lock.
func (f *Follower) walk(now time.Time, entries []peers.Taught, room int) ([]peers.Taught, time.Time) {
	slots := f.teacher.table.slots
	goal := len(slots)
	if since := now.Sub(f.round); since < Again {
		goal = int(int64(len(slots)) * int64(max(since, 0)) / int64(Again))
	}
	for ; f.at < goal; f.at++ {
		if len(entries) >= room {
			return entries, now
		}
		if slots[f.at].value != 0 {
			entries = f.teach(now, int32(f.at), entries)
		}
	}
	if f.at >= len(slots) {
		f.at = 0
		if !now.Before(f.round.Add(Again)) {
			f.round = now
		}
	}
	next := f.round.Add(Again)
	if n := len(slots); n > 0 {
		next = f.round.Add(time.Duration(int64(Again) * int64(f.at+1) / int64(n)))
	}
	if soon := now.Add(step); next.Before(soon) {
		next = soon
	}
	return entries, next
}

// teach returns the entries with one more, behind what is spared in it. It needs the
// lock.
func (f *Follower) teach(now time.Time, at int32, entries []peers.Taught) []peers.Taught {
	t := &f.teacher.table
	s := &t.slots[at]
	if s.value == haproxy.BlockedGPT {
		for _, spared := range f.teacher.plan.Spares[s.key] {
			if i, ok := t.index[spared]; ok {
				entries = append(entries, t.slots[i].entry(now))
			}
		}
	}
	return append(entries, s.entry(now))
}

// entry returns what HAProxy is taught. A time to live beyond the table's own is none
// for 3.x, and 2.6 would keep the entry for so long, though nobody could lift it. Since
// 2.6 may keep a block for its table's time whatever it is taught, what is spared in one
// always has all of its own table's.
func (s *slot) entry(now time.Time) peers.Taught {
	ttl := haproxy.BlockTables()[s.key.Table].Expire
	if s.value == haproxy.BlockedGPT {
		ttl = max(min(ttl, s.until.Sub(now)), time.Second)
	}
	return peers.Taught{Table: s.key.Table, Entry: peers.Entry{Key: s.key.Addr, Value: s.value, TTL: ttl}}
}

// all makes all entries due. It needs the lock.
func (f *Follower) all() {
	f.queues, f.queued, f.at, f.round = [turns][]int32{}, nil, 0, time.Time{}
	for at := range f.teacher.table.slots {
		if s := &f.teacher.table.slots[at]; s.used {
			f.enqueue(int32(at), s.turnOf())
		}
	}
}

// enqueue makes an entry due. It needs the lock.
func (f *Follower) enqueue(at int32, when turn) {
	if n := len(f.teacher.table.slots); len(f.queued) < n {
		f.queued = append(f.queued, make([]uint8, n-len(f.queued))...)
	}
	if f.queued[at]&(1<<when) == 0 {
		f.queued[at] |= 1 << when
		f.queues[when] = append(f.queues[when], at)
	}
	select {
	case f.due <- struct{}{}:
	default:
	}
}
