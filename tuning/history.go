package tuning

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"
)

// How the counts of each meter were distributed is kept for every five minutes of the last
// day: what a threshold would have done at each of them can be asked later.
//
// A meter's keys are looked at when one of its windows has ended. A window of five
// minutes or longer is kept each time. Of shorter ones the one is kept, of those in
// five minutes, in which a single key counted most: it is what a limit is for, and
// every one of a day would take five times the memory.
//
// It knows no clock: now is an argument, and may go back. What was not looked at is
// not there, and is never returned as zero.

const (
	// Shortest is how far apart two of the kept windows are at least.
	Shortest = 5 * time.Minute
	// Length is for how long one is kept.
	Length = 24 * time.Hour
	// MaxMeters is of how many meters a history is kept: of the first ones. With
	// [maxSparse] it bounds the memory to 22 MB.
	MaxMeters = 32
)

// Meter is what a history is kept of.
type Meter struct {
	Fingerprint string // of rules.Meter
	Window      time.Duration
}

// step is how far apart the kept windows of a meter are.
func (m Meter) step() time.Duration { return max(m.Window, Shortest) }

// number is which window of a meter an instant is in.
func (m Meter) number(at time.Time) int64 { return floor(at.Unix(), int64(m.Window/time.Second)) }

// place is where a window is kept that was looked at when it had just ended: the
// step in which it began.
func (m Meter) place(at time.Time) int64 {
	return floor(at.Add(-m.Window).Unix(), int64(m.step()/time.Second))
}

func floor(n, by int64) int64 {
	if n < 0 {
		return (n+1)/by - 1
	}
	return n / by
}

// Window is what the keys of a meter counted.
type Window struct {
	// From is when the step of the window began. Where the next window begins later
	// than a step after that, nothing is known of the time between.
	From time.Time
	// At is when the keys were looked at, and Counts what each counted then.
	At     time.Time
	Counts Sparse
}

// History is what is kept of all meters. The zero value is ready. It is safe for
// concurrent use.
type History struct {
	mu      sync.Mutex // guards series, days and changes
	series  map[Meter]*series
	days    map[Meter][]Day // the oldest first, and the one under way last
	changes uint64
}

// series is what is kept of a meter.
type series struct {
	begun   time.Time // since when its keys count: windows that began before are not whole
	number  int64     // of the window that is under way
	windows []Window  // the oldest first
}

// NextDue returns a meter whose window has ended, so that its keys should be looked at
// now: one in each call, so that a caller who asks each second never looks for long.
// What it kept of meters that are no more among these is dropped.
func (h *History) NextDue(now time.Time, meters []Meter) (Meter, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	meters = meters[:min(len(meters), MaxMeters)]
	for m := range h.series {
		if !slices.Contains(meters, m) {
			delete(h.series, m)
			h.changes++
		}
	}
	for _, m := range meters {
		s := h.of(m, now)
		n := m.number(now)
		if n == s.number || n == s.number-1 { // a clock that is set back a little sees a window's end twice
			continue
		}
		if n != s.number+1 { // the process slept, or the clock was set: what it counted is not whole
			s.begun = now
		}
		if s.number = n; !now.Before(s.begun.Add(m.Window)) {
			return m, true
		}
	}
	return Meter{}, false
}

// of returns what is kept of a meter, which may be nothing yet.
func (h *History) of(m Meter, now time.Time) *series {
	if s := h.series[m]; s != nil {
		return s
	}
	if h.series == nil {
		h.series = make(map[Meter]*series)
	}
	s := &series{begun: now, number: m.number(now)}
	h.series[m] = s
	return s
}

// NoteCounts keeps what a meter's keys count now.
func (h *History) NoteCounts(now time.Time, m Meter, counts *Distribution) {
	w := Window{At: now, Counts: counts.Sparse()}
	h.mu.Lock()
	defer h.mu.Unlock()
	if s := h.series[m]; s != nil { // else a reload dropped the meter
		s.keep(m, w)
		h.changes++
	}
}

// keep adds a window, and drops those that are too old or, since a clock was set
// back, in the future.
func (s *series) keep(m Meter, w Window) {
	place := m.place(w.At)
	s.windows = slices.DeleteFunc(s.windows, func(old Window) bool {
		return !w.At.Before(old.At.Add(Length)) || m.place(old.At) > place
	})
	w.From = time.Unix(place*int64(m.step()/time.Second), 0)
	if last := len(s.windows) - 1; last >= 0 && m.place(s.windows[last].At) == place {
		if w.Counts.Max() >= s.windows[last].Counts.Max() {
			s.windows[last] = w
		}
		return
	}
	s.windows = append(s.windows, w)
}

// Windows returns what is kept of a meter of the time up to now, the oldest first, and
// how far apart windows are.
func (h *History) Windows(now time.Time, m Meter, length time.Duration) (windows []Window, step time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s := h.series[m]; s != nil {
		for _, w := range s.windows {
			if !w.At.After(now) && now.Before(w.At.Add(length)) {
				windows = append(windows, w)
			}
		}
	}
	return windows, m.step()
}

// Changes returns a number that is another one after each change.
func (h *History) Changes() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.changes
}

// Bytes is about how much memory it takes.
func (h *History) Bytes() (bytes int64) {
	const window = 72 // a Window itself
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.series {
		for _, w := range s.windows {
			bytes += window + int64(len(w.Counts))
		}
	}
	return bytes
}

// AllWindows returns every window of every meter. The caller may take its time: what is
// noted meanwhile is not among them.
func (h *History) AllWindows() iter.Seq2[Meter, Window] {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := make(map[Meter][]Window, len(h.series))
	for m, s := range h.series {
		all[m] = slices.Clone(s.windows)
	}
	return func(yield func(Meter, Window) bool) {
		for _, m := range slices.SortedFunc(maps.Keys(all), func(a, b Meter) int {
			return cmp.Or(cmp.Compare(a.Fingerprint, b.Fingerprint), cmp.Compare(a.Window, b.Window))
		}) {
			for _, w := range all[m] {
				if !yield(m, w) {
					return
				}
			}
		}
	}
}

// Restore puts back a window that All returned, in the order of All; one that is too
// old or in the future is left out. The error says that its counts are none.
func (h *History) Restore(now time.Time, m Meter, at time.Time, counts []byte) error {
	read, err := readSparse(slices.Clone(counts))
	if err != nil || m.Window < time.Second || at.After(now) || !now.Before(at.Add(Length)) {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.series) >= MaxMeters && h.series[m] == nil {
		return nil
	}
	s := h.of(m, now)
	s.keep(m, Window{At: at, Counts: read})
	// What the node counted was kept with it, so that after a short stop windows are
	// as good as whole.
	if s.begun = now; now.Sub(at) < 2*m.step() {
		s.begun = at
	}
	return nil
}
