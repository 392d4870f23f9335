package httpauth

import (
	"hash/maphash"
	"sync"
	"time"

	"edgeguard"
)

const (
	// recentSlots bounds the memory: 16,384 requests of 32 bytes. A request is
	// forgotten early when another falls on its slot: at 30,000 requests a
	// second, a repetition after 1 ms finds its first with 99.8 %.
	recentSlots = 1 << 14
	// recentFor is how long a request may take from its first question to its
	// last: the upstream's answer, which error_page may redirect, included.
	recentFor = 10 * time.Second
	// maxRepeats is how often nginx redirects one request internally before it
	// gives up (NGX_HTTP_MAX_URI_CHANGES). It also bounds what a client gains
	// where a configuration passes its own id on.
	maxRepeats = 10
)

// recent remembers the verdicts of the latest requests by their id, so that a
// request that nginx asks for again after an internal redirect (index,
// try_files, error_page) is answered and not counted. It is safe for
// concurrent use.
type recent struct {
	seed  maphash.Seed
	mu    sync.Mutex // guards slots
	slots []recentSlot
}

type recentSlot struct {
	key     uint64 // 0: empty
	at      int64  // unix nanoseconds of the first question
	repeats uint8
	refused *edgeguard.Verdict // nil: passed
}

func newRecent() *recent {
	return &recent{seed: maphash.MakeSeed(), slots: make([]recentSlot, recentSlots)}
}

// key names a request: its id, and what it is about, so that an id that comes
// from a client is worth one address and one target.
func (r *recent) key(id string, event *edgeguard.Event) uint64 {
	var h maphash.Hash
	h.SetSeed(r.seed)
	_, _ = h.WriteString(id)
	addr := event.Addr.As16()
	_, _ = h.Write(addr[:])
	_, _ = h.WriteString(event.Path)
	return max(1, h.Sum64())
}

// find returns the verdict on a request that was asked for before.
func (r *recent) find(now time.Time, key uint64) (edgeguard.Verdict, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &r.slots[key%recentSlots]
	age := now.UnixNano() - s.at
	if s.key != key || age < 0 || age > int64(recentFor) || s.repeats == maxRepeats {
		return edgeguard.Verdict{}, false
	}
	s.repeats++
	if s.refused != nil {
		return *s.refused, true
	}
	return edgeguard.Verdict{}, true
}

// add remembers a verdict. Verdicts point into rules, which outlive a request.
func (r *recent) add(now time.Time, key uint64, verdict edgeguard.Verdict) {
	slot := recentSlot{key: key, at: now.UnixNano()}
	if verdict.Action == edgeguard.ActionDeny {
		slot.refused = &verdict
	}
	r.mu.Lock()
	r.slots[key%recentSlots] = slot
	r.mu.Unlock()
}
