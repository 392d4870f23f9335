package peers

import (
	"math"
	"time"
)

const (
	// again is when a resync is asked for again that did not help.
	again = time.Second
	// soon is the same in a handover: it is short, and so is a table that has just begun.
	soon = 200 * time.Millisecond
	// refresh is when one is asked for because keys were dropped for room: after it,
	// it is known which of them HAProxy does not have any more.
	refresh = time.Hour
	// slack is how much earlier than a gap an entry must have changed last to be
	// sure that it did not change in the gap.
	slack = time.Second
)

// Session is one connection of a HAProxy. One goroutine uses it.
type Session struct {
	source     *source
	doubled    bool
	pace       pace
	asked      time.Time
	dump       bool // a resync was asked for and has not ended
	upToDate   bool // HAProxy was, when a resync ended: one that begins now has all its keys
	definition *Definition
	table      *countTable
	at         int
	values     []uint32
}

// Doubled reports whether nothing of this session is counted, because two HAProxies
// have one name.
func (s *Session) Doubled() bool { return s.doubled }

// Round notes that so many bytes were read, or that none were there. It comes before what they
// say, and for a connection that is read all the time less than stall after the one before.
func (s *Session) Round(now time.Time, bytes int) {
	src := s.source
	src.mu.Lock()
	defer src.mu.Unlock()
	if src.current != s {
		return
	}
	if s.dump && now.Sub(s.asked) > longestDump {
		s.dump = false
	}
	s.pace.round(now, bytes, s.dump)
	if src.upTo = s.pace.readUpTo(); s.pace.held.IsZero() { // else edgeguard was stopped: since when HAProxy has ended is not known
		src.runs = now
	}
	if !src.inHandover() {
		src.settle()
	}
}

// Define notes the definition of the table of counts. HAProxy begins a resync with
// it, also if the table is empty.
func (s *Session) Define(d *Definition) {
	src := s.source
	src.mu.Lock()
	defer src.mu.Unlock()
	if src.current == s {
		s.turn(d)
	}
}

// Add returns into with what an update adds at its end. The columns are the table's
// general purpose counters.
func (s *Session) Add(u *Update, into []Increase) []Increase {
	src := s.source
	src.mu.Lock()
	defer src.mu.Unlock()
	addr := u.Addr()
	if src.current != s || !addr.IsValid() || !s.turn(u.Table) {
		return into
	}
	values := s.values[:0]
	for _, n := range u.Numbers[s.at : s.at+s.table.columns] {
		values = append(values, uint32(min(n, math.MaxUint32)))
	}
	s.values = values
	i, known := s.table.enter(addr.As16(), &src.stats)
	if !s.table.warm || s.isOld(u) {
		if !s.table.warm {
			src.stats.Baseline += s.table.beyond(i, values)
		}
		s.table.rebase(i, known, values)
		return into
	}
	added, inherited := s.table.addCounters(i, known, values)
	at := s.since()
	if s.table.isFirst(i, !src.lingers(s.pace.last)) || inherited {
		at = earlier(at, src.handed)
	}
	for column, n := range added {
		if n > most {
			src.stats.Clipped += uint64(n - most)
			n = most
		}
		if n > 0 {
			into = append(into, Increase{Key: addr, Column: column, N: n, At: at})
		}
	}
	return into
}

// turn makes the table of a definition the current one.
func (s *Session) turn(d *Definition) bool {
	if d != s.definition {
		at, columns := d.Place(GPC)
		s.definition, s.at, s.table = d, at, nil
		if columns > 0 {
			s.table = s.source.table(d, columns)
		}
	}
	return s.table != nil
}

// isOld reports whether an entry of a resync changed last before the gap, by its time
// to live: then nothing in it is new.
func (s *Session) isOld(u *Update) bool {
	if !u.Timed || u.Table.Expire <= 0 {
		return false
	}
	changed := s.pace.last.Add(u.TTL - u.Table.Expire)
	return changed.Before(s.since().Add(-slack))
}

// since returns the time from which on what was read last was counted: by this process, or
// by one before it that may have taught it since.
func (s *Session) since() time.Time {
	for _, e := range s.source.recent {
		if !e.until.Before(s.pace.last) {
			return earlier(s.pace.stamp, e.from)
		}
	}
	return s.pace.stamp
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// Resynced notes that a resync has ended, and reports whether all keys that HAProxy had
// are known. The first of a connection that is whole, for HAProxy says at its end that
// it is up to date, may lack what the process before taught in the middle of it. So
// where a table is new, or in a handover, another one is needed.
func (s *Session) Resynced(whole bool) (learned bool) {
	src := s.source
	src.mu.Lock()
	defer src.mu.Unlock()
	if src.current != s {
		return false
	}
	s.dump = false
	if !whole {
		return false
	}
	learned = true
	for _, t := range src.tables {
		if s.upToDate {
			t.warm = true
			t.resynced()
		}
		learned = learned && t.warm
	}
	if s.upToDate && src.awaits(s.pace.last) {
		src.settle()
		for _, t := range src.tables {
			t.forget()
		}
	}
	if !s.upToDate && (!learned || src.awaits(s.pace.last)) {
		s.asked = time.Time{} // ask at once
	}
	s.upToDate = true
	return learned
}

// AskResync reports whether HAProxy is to be asked for a resync, and notes that it is. It
// is called about each second.
func (s *Session) AskResync(now time.Time) bool {
	src := s.source
	src.mu.Lock()
	defer src.mu.Unlock()
	if src.current != s || s.dump && now.Sub(s.asked) <= longestDump {
		return false
	}
	wait := time.Duration(math.MaxInt64)
	if src.awaits(now) {
		wait = soon
	}
	for _, t := range src.tables {
		switch {
		case !t.warm:
			wait = min(wait, again)
		case t.hasDropped():
			wait = min(wait, refresh)
		}
	}
	if now.Sub(s.asked) < wait {
		return false
	}
	s.asked, s.dump = now, true
	for _, t := range src.tables {
		t.noteResync()
	}
	return true
}
