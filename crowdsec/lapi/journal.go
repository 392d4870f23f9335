package lapi

import (
	"net/netip"
	"slices"
	"sync"
	"time"
)

// What bouncers of CrowdSec are to enforce: the blocks in force, as decisions with a number
// each, and a journal of what changed and ended. A bouncer asks for all of it once, and then
// for what changed since.
//
// Each prefix has one entry, in force or ended, and each change gives its entry the next
// number of the journal. A log has the numbers in their order, so that what changed since
// a number is found without a walk through all. A number in the log that its entry no
// longer has is skipped, and the log is made again when most are such.

// journalKeeps is how long an entry that ended is kept after the last moment at which a bouncer
// that was told of its end can have it.
const journalKeeps = time.Hour

// leastEnded is how many entries that ended are kept at least, while their time is not
// over. There are as many as ever were in force together, if those were more.
const leastEnded = 100_000

// Decision is one block that bouncers enforce.
type Decision struct {
	Prefix netip.Prefix // masked
	Rule   string       // that made it
	Until  time.Time
	// Proxied says that the prefix was learned behind a proxy: no bouncer that filters
	// packets may have it.
	Proxied bool
}

// Change is the newest state of one prefix.
type Change struct {
	Decision
	// Seq orders the changes, and ID is the same as long as the prefix has an entry.
	Seq, ID uint64
	// Live says that it is in force, else it has ended.
	Live bool
	// Again says that it was in force before, with another end: a bouncer may have it.
	Again bool
	// Open says that some state of it was not Proxied: a bouncer that filters packets may
	// have it.
	Open bool
}

// EndedAndBegun returns whether a bouncer is told that the prefix is no longer blocked, that it
// is, or both, in this order: a bouncer keeps the end that it was told first. A kernel
// bouncer filters packets. One that starts has nothing yet.
func (c *Change) EndedAndBegun(kernel, starts bool) (ended, begun bool) {
	switch {
	case kernel && c.Proxied:
		return c.Open, false
	case !c.Live:
		return true, false
	}
	return c.Again && !starts, true
}

// Journal is the decisions of a node. It is safe for concurrent use. Make one with [NewJournal].
type Journal struct {
	mu      sync.Mutex // guards all below
	entries pages
	free    []int32
	places  map[key]int32
	log     []record
	stale   int // records of the log that their entries no longer have
	live    queue
	ended   queue
	lengths [2][129]int32 // how many live entries have this length, of IPv4 and IPv6
	seq     uint64        // of the last change
	// forgotten is the greatest number of an entry that is gone: who has not heard of
	// it can only ask for everything.
	forgotten uint64
	peak      int    // the most live entries at a time, of late
	round     uint32 // of Replace
}

// record says that an entry changed.
type record struct {
	seq   uint64
	place int32
}

// NewJournal returns a journal without decisions.
func NewJournal() *Journal {
	j := &Journal{places: make(map[key]int32)}
	j.live.of, j.ended.of = &j.entries, &j.entries
	return j
}

// SetDecision puts a decision in force, or ends it: if its Until has come, or live is false.
func (j *Journal) SetDecision(now time.Time, d Decision, live bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.advance(now)
	j.set(now, d, live)
}

// Replace puts exactly these decisions in force, and ends all others. A prefix comes
// once. Those of ended have ended if they are not in force: it tells bouncers of blocks
// that ended before the journal began.
func (j *Journal) Replace(now time.Time, live, ended func(yield func(Decision) bool)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.advance(now)
	j.round++
	for d := range live {
		if place, ok := j.set(now, d, true); ok {
			j.entries.entryAt(place).round = j.round
		}
	}
	for _, place := range slices.Clone(j.live.places) {
		if e := j.entries.entryAt(place); e.round != j.round {
			j.end(now, place)
		}
	}
	for d := range ended {
		if _, ok := j.places[keyOf(d.Prefix)]; !ok && now.Before(d.Until) {
			j.set(now, d, false)
		}
	}
}

// Advance ends what has ended at now, and forgets what ended long ago.
func (j *Journal) Advance(now time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.advance(now)
}

func (j *Journal) advance(now time.Time) {
	at := now.UnixNano()
	for place, ok := j.live.firstDue(at); ok; place, ok = j.live.firstDue(at) {
		j.end(now, place)
	}
	for place, ok := j.ended.firstDue(at); ok; place, ok = j.ended.firstDue(at) {
		j.forget(place)
	}
	if len(j.ended.places) < leastEnded {
		j.peak = len(j.live.places)
	}
}

// set notes what stands of a prefix. It returns the entry's place, if it is live.
func (j *Journal) set(now time.Time, d Decision, live bool) (place int32, ok bool) {
	live = live && now.Before(d.Until)
	place, known := j.places[keyOf(d.Prefix)]
	switch {
	case known && live && !j.entries.entryAt(place).differs(&d):
		j.entries.entryAt(place).rule = d.Rule
		return place, true
	case known && !live:
		if j.entries.entryAt(place).live {
			j.end(now, place)
		}
		return place, false
	case !known && !live && !now.Before(d.Until):
		return 0, false // no bouncer can have it
	case !known:
		place = j.add(d.Prefix)
	}
	e := j.entries.entryAt(place)
	e.again = known
	e.rule, e.until, e.proxied, e.open = d.Rule, d.Until.UnixNano(), d.Proxied, e.open || !d.Proxied
	e.latest = max(e.latest, e.until)
	if !live {
		j.put(now, place)
		return place, false
	}
	if !e.live {
		j.ended.remove(place)
		e.live = true
		j.lengths[e.key.family()][e.key.bits]++
		e.due = e.until
		j.live.push(place)
	} else {
		e.due = e.until
		j.live.restoreOrder(place)
	}
	j.peak = max(j.peak, len(j.live.places))
	j.changed(place)
	return place, true
}

// add makes an entry that is in no queue.
func (j *Journal) add(p netip.Prefix) (place int32) {
	if n := len(j.free); n > 0 {
		place, j.free = j.free[n-1], j.free[:n-1]
	} else {
		place = j.entries.newEntry()
	}
	k := keyOf(p)
	*j.entries.entryAt(place) = entry{key: k, id: j.seq + 1, seat: -1}
	j.places[k] = place
	return place
}

// end ends a live entry.
func (j *Journal) end(now time.Time, place int32) {
	e := j.entries.entryAt(place)
	j.live.remove(place)
	e.live = false
	j.lengths[e.key.family()][e.key.bits]--
	j.put(now, place)
}

// put keeps an entry that has ended, and forgets the one that is due first if there are
// too many.
func (j *Journal) put(now time.Time, place int32) {
	e := j.entries.entryAt(place)
	e.due = max(e.latest, now.UnixNano()) + int64(journalKeeps)
	j.ended.push(place)
	j.changed(place)
	for len(j.ended.places) > max(leastEnded, j.peak) {
		j.forget(j.ended.places[0])
	}
}

// forget drops an entry that has ended.
func (j *Journal) forget(place int32) {
	j.ended.remove(place)
	e := j.entries.entryAt(place)
	j.forgotten = max(j.forgotten, e.seq)
	delete(j.places, e.key)
	*e = entry{seat: -1}
	j.free = append(j.free, place)
	j.stale++
}

// changed gives an entry the next number.
func (j *Journal) changed(place int32) {
	j.seq++
	e := j.entries.entryAt(place)
	if e.seq != 0 {
		j.stale++
	}
	e.seq = j.seq
	j.log = append(j.log, record{j.seq, place})
	if j.stale > len(j.log)/2+1000 {
		j.log = slices.DeleteFunc(j.log, func(r record) bool { return j.entries.entryAt(r.place).seq != r.seq })
		j.log = slices.Clip(j.log)
		j.stale = 0
	}
}

// Marks returns the number of the last change, and the number from which on the journal
// is whole: who has not heard of it asks for everything.
func (j *Journal) Marks() (last, whole uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.seq, j.forgotten
}

// Between appends to into, as long as it has room, the changes with a number over after
// and not over last, in their order. It returns them, and the number to go on after; done
// says that there are no more.
func (j *Journal) Between(after, last uint64, into []Change) (_ []Change, next uint64, done bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	i, _ := slices.BinarySearchFunc(j.log, after+1, func(r record, seq uint64) int {
		switch {
		case r.seq < seq:
			return -1
		case r.seq > seq:
			return 1
		}
		return 0
	})
	for _, r := range j.log[i:] {
		if r.seq > last {
			break
		}
		e := j.entries.entryAt(r.place)
		if e.seq != r.seq {
			continue
		}
		if len(into) == cap(into) {
			return into, after, false
		}
		into, after = append(into, e.change()), r.seq
	}
	return into, last, true
}

// Count returns how many decisions are in force, and how many that ended are kept.
func (j *Journal) Count() (live, ended int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.live.places), len(j.ended.places)
}

// Ranges returns how many decisions in force are about more than one address.
func (j *Journal) Ranges() (n int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for family, full := range [2]int{32, 128} {
		for bits, count := range j.lengths[family] {
			if bits < full {
				n += int(count)
			}
		}
	}
	return n
}

// Containing returns the decisions in force at now that contain a whole prefix, the
// widest first.
func (j *Journal) Containing(now time.Time, p netip.Prefix) (all []Change) {
	j.mu.Lock()
	defer j.mu.Unlock()
	family := keyOf(p).family()
	for bits := range p.Bits() + 1 {
		if j.lengths[family][bits] == 0 {
			continue
		}
		wide := netip.PrefixFrom(p.Addr(), bits).Masked()
		if place, ok := j.places[keyOf(wide)]; ok && j.entries.entryAt(place).live && j.entries.entryAt(place).until > now.UnixNano() {
			all = append(all, j.entries.entryAt(place).change())
		}
	}
	return all
}
