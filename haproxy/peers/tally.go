package peers

import (
	"math"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// Increases are made of what HAProxies count. A HAProxy sends the counters of a key as they
// are, without a time: 7, then 9. So the tally remembers the last values, and when it last
// knew them to be all.
//
// It never counts more than was requested. Where it cannot know, it counts less:
//
//   - What was counted while nothing was read has the time at which the gap began,
//     and is forgotten so much earlier.
//   - After a connection begins, it may be of a new process: counters begin at 0, and
//     some time later have what the process before counted, too. See handover. It ends
//     when HAProxy says so: see awaits.
//   - HAProxy forgets keys that are silent, and its oldest when its table is full. A
//     counter that is less than before is a new one, and counted whole.
//   - The keys that a HAProxy has when it is seen first are a baseline.
//   - The tally is bounded. Of a key that was dropped for room, only what exceeds the
//     dropped value counts. Many dropped keys share a place for that.

const (
	// mostSources is how many HAProxies a tally remembers. The one that was silent for
	// longest goes first.
	mostSources = 64
	// tablesOfOne is how many tables of counts one HAProxy may have: those of the
	// rules before a reload and after.
	tablesOfOne = 4
	// together is how many full tables all HAProxies may have together: who may speak as
	// one may take any name, and each is remembered. A table has room for leastKeys
	// whatever the others have.
	together  = 4
	leastKeys = 1 << 10
	// most is how much one update adds to a column: as much as a slot can hold.
	most = math.MaxUint16
	// handover is how long after a connection began a counter may still change to
	// what another process counted. HAProxy's takes seconds; it retries while it
	// fails.
	handover = 10 * time.Minute
	// lingers is how long a process that ends answers requests and teaches its heir.
	lingers = 10 * time.Second
	// waits is less than how long a HAProxy waits for the process before it to teach it:
	// from then on it takes itself for up to date.
	waits = 4 * time.Second
	// mostRecent is how many handovers that lingers covers are told apart.
	mostRecent = 16
	// pids is how many processes before the current one are remembered.
	pids = 8
)

// Increase is what a key was counted more in a column.
type Increase struct {
	Key    netip.Addr
	Column int
	N      uint32
	At     time.Time // not after it happened: when the connection was read before
}

// Outcome is what became of increases.
type Outcome struct {
	Known bool // the rules in force are those of the table: else nothing was counted
	// Late is how many requests were too old for some rule, Lost how many of them no rule
	// counted, and LateSteps how many steps of counters were too old for their rules.
	Late, Lost, LateSteps uint64
}

// Tally is what HAProxies had counted. It is safe for concurrent use.
type Tally struct {
	keys    int
	space   *space
	mu      sync.Mutex // guards sources
	sources map[string]*source
}

// NewTally returns a tally of at most so many keys for each table, and four times as many for
// all of them.
func NewTally(keys int) *Tally {
	t := &Tally{keys: max(keys, 1), space: new(space), sources: map[string]*source{}}
	t.space.left.Store(together * int64(t.keys))
	return t
}

// source is one HAProxy, through all its processes and connections.
type source struct {
	keys         int
	space        *space
	mu           sync.Mutex // guards what is below
	current      *Session
	pid          int
	retired      []retired
	upTo         time.Time // all that was counted before is in the tables; zero: nothing is
	handoverEnds time.Time // until when a handover may happen
	handed       time.Time // when what is inherited in it may have been counted first: by one process after the other, perhaps
	lived        time.Time // until when the process before the current one was seen to run, at least
	runs         time.Time // the same of the current one
	several      bool      // more than one process may teach in it
	recent       []ending  // its processes that may be running, the oldest first
	tables       map[string]*countTable
	stats        TallyStats
}

// retired is a process whose connection another has replaced.
type retired struct {
	pid int
	at  time.Time
}

// ending is a process that another has replaced: what it counts from a time on is not seen,
// until it teaches its heir.
type ending struct{ from, until time.Time }

// TallyStats say what a HAProxy's tally has, and what it did not count.
type TallyStats struct {
	Keys     int
	Baseline uint64 // counted by HAProxy before edgeguard first saw it
	Dropped  uint64 // keys that were dropped for room
	Clipped  uint64 // what updates added beyond what one may add
}

// Stats returns those of a HAProxy.
func (t *Tally) Stats(haproxy string) TallyStats {
	t.mu.Lock()
	src := t.sources[haproxy]
	t.mu.Unlock()
	if src == nil {
		return TallyStats{}
	}
	src.mu.Lock()
	defer src.mu.Unlock()
	stats := src.stats
	for _, table := range src.tables {
		stats.Keys += len(table.entries)
	}
	return stats
}

// Begin returns the session of a connection that has been accepted, by the process
// that said hello. What an older connection of this HAProxy still receives is not
// counted: the new process has it, or will. HAProxy must be asked for a resync then.
func (t *Tally) Begin(haproxy string, pid int, now time.Time) *Session {
	src := t.source(haproxy, now)
	src.mu.Lock()
	defer src.mu.Unlock()
	s := &Session{source: src, asked: now, dump: true}
	if src.hasRetired(pid, now) {
		s.doubled = true
		return s
	}
	src.replace(pid, now)
	src.current = s
	s.pace = pace{last: now, held: src.upTo, stamp: src.upTo, release: now.Add(slowest)}
	return s
}

// replace begins a handover if the process is another one. Where a process has the
// number of the one before, the connection broke, or it was started again in a
// container: then the one before has ended, and cannot teach it anything.
func (src *source) replace(pid int, now time.Time) {
	inOne := src.inHandover()
	if src.pid != pid && src.pid != 0 {
		src.retired = append(src.retired, retired{src.pid, now})
		src.retired = src.retired[max(0, len(src.retired)-pids):]
	}
	for _, table := range src.tables {
		if src.pid == pid {
			table.noteResync()
		} else {
			table.begin(inOne)
		}
	}
	if src.upTo.IsZero() || src.upTo.After(now) { // or the clock was set back: how long the gap is, is not known
		src.upTo = now
		for _, table := range src.tables {
			table.warm = false
		}
	}
	if src.pid == pid {
		return
	}
	src.several, src.lived = inOne, src.runs
	if src.runs.IsZero() {
		src.lived = src.upTo
	}
	if !inOne {
		src.handed, src.recent = src.upTo, nil
	}
	src.pid, src.handoverEnds = pid, now.Add(handover)
	src.recent = slices.DeleteFunc(src.recent, func(e ending) bool { return e.until.Before(now) })
	if last := len(src.recent) - 1; last >= mostRecent-1 {
		src.recent[last].until = now.Add(lingers) // which takes what it counts for older than it is
		return
	}
	src.recent = append(src.recent, ending{src.upTo, now.Add(lingers)})
}

// lingers reports whether a process before the current one may be running.
func (src *source) lingers(now time.Time) bool {
	n := len(src.recent)
	return n > 0 && !src.recent[n-1].until.Before(now)
}

// awaits reports whether the current process, if it says that it is up to date, has learned
// all that the one before had, or has none before it. Later it may only have waited for long
// enough; and of several processes before it, which has taught is not said. An old process
// teaches once, and closes the connection then: what it counts later is lost.
func (src *source) awaits(now time.Time) bool {
	return src.inHandover() && !src.several && now.Sub(src.lived) < waits
}

// settle ends a handover.
func (src *source) settle() {
	src.handoverEnds, src.recent = time.Time{}, nil
	for _, t := range src.tables {
		t.settle()
	}
}

func (t *Tally) source(haproxy string, now time.Time) *source {
	t.mu.Lock()
	defer t.mu.Unlock()
	src := t.sources[haproxy]
	if src == nil {
		if len(t.sources) >= mostSources {
			other, _ := t.oldest(haproxy)
			t.forget(other)
		}
		src = &source{keys: t.keys, space: t.space, tables: map[string]*countTable{}}
		t.sources[haproxy] = src
	}
	for t.space.left.Load() < int64(t.keys) {
		other, upTo := t.oldest(haproxy)
		if other == "" || now.Sub(upTo) < handover {
			break
		}
		t.forget(other)
	}
	return src
}

// forget forgets a HAProxy. Its room is given back. It needs the lock.
func (t *Tally) forget(haproxy string) {
	src := t.sources[haproxy]
	src.mu.Lock()
	t.space.giveBackTables(src.tables)
	src.tables, src.current = map[string]*countTable{}, nil
	src.mu.Unlock()
	delete(t.sources, haproxy)
}

// oldest returns the HAProxy of which nothing was read for longest, but for one. It needs
// the lock.
func (t *Tally) oldest(but string) (oldest string, at time.Time) {
	for name, src := range t.sources {
		if name == but {
			continue
		}
		src.mu.Lock()
		upTo := src.upTo
		src.mu.Unlock()
		if oldest == "" || upTo.Before(at) {
			oldest, at = name, upTo
		}
	}
	return oldest, at
}

// hasRetired reports whether another process has replaced this one. A process does
// not come back: then two HAProxies have one name.
func (src *source) hasRetired(pid int, now time.Time) bool {
	for _, r := range src.retired {
		if r.pid == pid && pid != src.pid && now.Sub(r.at) < handover {
			return true
		}
	}
	return false
}

// inHandover reports whether a counter may still change to what another process
// counted: also after the handover's time, until all that was sent in it has been read.
func (src *source) inHandover() bool { return src.upTo.Before(src.handoverEnds) }

// table returns the table of a definition, an empty one at first.
func (src *source) table(d *Definition, columns int) *countTable {
	t := src.tables[d.Name]
	if t == nil || t.columns != columns {
		if t == nil && len(src.tables) >= tablesOfOne {
			src.space.giveBackTables(src.tables)
			clear(src.tables) // of rules before the rules before: a baseline costs less than an order would
		}
		if t != nil {
			src.space.giveBackTables(map[string]*countTable{d.Name: t})
		}
		t = newTable(columns, src.keys, src.space, src.inHandover())
		src.tables[d.Name] = t
	}
	return t
}
