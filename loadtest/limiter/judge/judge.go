// Package judge says how far a limiter was from the exact log of what it
// allowed itself: what it let pass over the limit, what it refused although
// there was room, how far its count was off, and whether the time that it named
// was true.
package judge

import (
	"time"

	"edgeguard/loadtest/limiter"
	"edgeguard/loadtest/traffic"
)

// Sentence is what a [Judge] found. A window is that of the limit and ends at a
// request: (at - window, at].
type Sentence struct {
	Requests int
	Allowed  int
	// Over are requests that were allowed where the window had no room.
	Over int
	// Most is the greatest cost allowed to one client in any window, to be held
	// against Limit.
	Most  uint32
	Limit uint32
	// ShortestMS is the shortest time in which more than the limit was allowed to
	// one client, in milliseconds; negative where it never was.
	ShortestMS int64
	// RefusedFalsely are requests that were refused where the window had room.
	RefusedFalsely int
	// Least and Greatest are the bounds of the error of the count: it less the
	// exact cost of the window.
	Least    float64
	Greatest float64
	// Bound is the greatest error that was possible by the limiter's own statement,
	// Beyond how many counts were off by more. Both are 0 where nothing is stated.
	Bound  uint32
	Beyond int
	Waits
}

// Judge reads requests with what a limiter said to them, in the order of their
// time. It is not safe for concurrent use.
type Judge struct {
	limit   uint32
	window  time.Duration
	since   func(now, window time.Duration) time.Duration
	clients []history // by number
	found   Sentence
}

// history is what one client was allowed, oldest first.
type history struct {
	all []allowed
	sum uint32 // of all, which are those in the window when it was last looked at
	// Of all, the sums of those that a count is certain to hold, and of those in the
	// shortest time that is over the limit, and where each begins.
	sure, tight     uint32
	sureAt, tightAt int32
}

type allowed struct {
	at   time.Duration
	cost uint16
}

// New returns a judge of limiters of an algorithm on a scenario. Since is the algorithm's
// own, nil where it states nothing.
func New(s *traffic.Scenario, since func(now, window time.Duration) time.Duration) *Judge {
	return &Judge{limit: s.Limit, window: s.Window, since: since, clients: make([]history, s.Attackers),
		found: Sentence{Limit: s.Limit, ShortestMS: -1}}
}

// See judges one decision; now is the time that the limiter was told.
func (j *Judge) See(now time.Duration, r traffic.Request, d limiter.Decision) {
	for int(r.Client) >= len(j.clients) {
		j.clients = append(j.clients, history{})
	}
	h := &j.clients[r.Client]
	h.leave(now - j.window)
	j.found.Requests++
	room := h.sum+uint32(r.Cost) <= j.limit
	switch {
	case d.Allowed:
		j.allow(h, now, r)
		if !room {
			j.over(h, now)
		}
	case room:
		j.found.RefusedFalsely++
	}
	j.count(h, now, d.Count)
}

// Sentence returns what was found up to now.
func (j *Judge) Sentence() Sentence { return j.found }

func (j *Judge) allow(h *history, now time.Duration, r traffic.Request) {
	j.found.Allowed++
	h.all = append(h.all, allowed{now, r.Cost})
	h.sum += uint32(r.Cost)
	h.sure += uint32(r.Cost)
	h.tight += uint32(r.Cost)
	j.found.Most = max(j.found.Most, h.sum)
}

// over is for a request that was allowed without room.
func (j *Judge) over(h *history, now time.Duration) {
	j.found.Over++
	for h.tight-uint32(h.all[h.tightAt].cost) > j.limit {
		h.tight -= uint32(h.all[h.tightAt].cost)
		h.tightAt++
	}
	span := int64((now - h.all[h.tightAt].at) / time.Millisecond)
	if j.found.ShortestMS < 0 || span < j.found.ShortestMS {
		j.found.ShortestMS = span
	}
}

// count holds a count against the exact cost of the window.
func (j *Judge) count(h *history, now time.Duration, count float64) {
	off := count - float64(h.sum)
	j.found.Least, j.found.Greatest = min(j.found.Least, off), max(j.found.Greatest, off)
	if j.since == nil {
		return
	}
	for from := j.since(now, j.window); int(h.sureAt) < len(h.all) && h.all[h.sureAt].at < from; h.sureAt++ {
		h.sure -= uint32(h.all[h.sureAt].cost)
	}
	j.found.Bound = max(j.found.Bound, h.sum-h.sure)
	if count < float64(h.sure) || off > 0 {
		j.found.Beyond++
	}
}

// leave forgets what was allowed up to a time.
func (h *history) leave(until time.Duration) {
	gone := int32(0)
	for ; int(gone) < len(h.all) && h.all[gone].at <= until; gone++ {
		cost := uint32(h.all[gone].cost)
		h.sum -= cost
		if gone >= h.sureAt {
			h.sure -= cost
		}
		if gone >= h.tightAt {
			h.tight -= cost
		}
	}
	h.all = h.all[gone:]
	h.sureAt, h.tightAt = max(0, h.sureAt-gone), max(0, h.tightAt-gone)
}
