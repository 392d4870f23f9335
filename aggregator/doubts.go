package aggregator

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

const (
	// evidenceExplains is how long a node may take to be known by a heartbeat.
	evidenceExplains = 10 * time.Second
	// forgets is how long after it was last seen a doubt is over.
	forgets = time.Minute
	// looksAgain is how long after it was last seen a doubt is looked at again:
	// a node sends a heartbeat every two seconds.
	looksAgain = 2 * time.Second
	// mostDoubts bounds the keys that are remembered, mostAgain those that are
	// looked at again in one call though nothing is known of the field that does not
	// count.
	mostDoubts, mostAgain = 10_000, 32
)

// Doubts are the keys whose total is over the limit, and what counts of it is not.
// It is safe for concurrent use. The zero value is ready.
type Doubts struct {
	mu    sync.Mutex // guards the fields below
	known map[Key]doubt
	named Key // of the last alarm
}

type doubt struct {
	first, last, asked time.Time
	stranger           SplitField
}

// NoteStranger records that a key is over its limit only with a field that does not count.
func (d *Doubts) NoteStranger(k Key, stranger SplitField, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	one, ok := d.known[k]
	if !ok {
		if len(d.known) >= mostDoubts {
			return
		}
		one.first = now
	}
	if d.known == nil {
		d.known = make(map[Key]doubt)
	}
	one.last, one.asked, one.stranger = now, now, stranger
	d.known[k] = one
}

// Settle records that a key is over its limit by what counts.
func (d *Doubts) Settle(k Key) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.known, k)
}

// DoubtAlarms raises and ends alarms.
type DoubtAlarms interface {
	Alarm(kind, about, text string)
	Calm(kind, about string)
}

// Report raises or ends the alarm about keys that stay in doubt. It returns the keys to
// look at again: some that it is time for, and all of which the field that did not count
// is now one of a node, as known reports: its heartbeat was late.
func (d *Doubts) Report(now time.Time, known func(id [8]byte) bool, to DoubtAlarms) (again, explained []Key) {
	again, explained, text := d.due(now, known)
	if text != "" {
		to.Alarm("forged", "strangers", text)
	} else {
		to.Calm("forged", "strangers")
	}
	return again, explained
}

// due returns keys to look at again, in no order, and the text of an alarm about a
// key that has been in doubt for so long that no node explains it: the same one as
// long as that lasts. The text is "" if there is none.
func (d *Doubts) due(now time.Time, known func(id [8]byte) bool) (again, explained []Key, text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.DeleteFunc(d.known, func(_ Key, one doubt) bool { return now.Sub(one.last) >= forgets })
	for k, one := range d.known {
		id, ok := one.stranger.NodeID()
		switch {
		case ok && known(id):
			explained = append(explained, k)
		case len(again) < mostAgain && now.Sub(one.asked) >= looksAgain:
			one.asked = now
			d.known[k] = one
			again = append(again, k)
		}
	}
	if !d.lasts(d.named) {
		lasting := slices.Collect(maps.Keys(d.known))
		lasting = slices.DeleteFunc(lasting, func(k Key) bool { return !d.lasts(k) })
		if len(lasting) == 0 {
			return again, explained, ""
		}
		d.named = lasting[0]
	}
	return again, explained, fmt.Sprintf("Redis has %s over its limit by counts that no node made (%s): another client writes to Redis: these counts block nothing",
		d.named.Prefix, d.known[d.named].stranger)
}

// lasts reports whether a key was in doubt for longer than a node takes to be
// known. The caller holds the lock.
func (d *Doubts) lasts(k Key) bool {
	one, known := d.known[k]
	return known && one.last.Sub(one.first) >= evidenceExplains
}
