package algorithms

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// sortedSet is what the documents' scripts use of a sorted set of Redis: each
// member has one score.
type sortedSet map[string]int64

func (s sortedSet) removeUpTo(score int64) {
	for member, at := range s {
		if at <= score {
			delete(s, member)
		}
	}
}

func (s sortedSet) oldest() int64 {
	scores := make([]int64, 0, len(s))
	for _, at := range s {
		scores = append(scores, at)
	}
	return slices.Min(scores)
}

// attempt is the script of document 001: a member for each unit of cost. It
// returns whether the request is allowed, or after how many seconds to retry.
func (s sortedSet) attempt(now, window time.Duration, limit, cost int, member string) (allowed bool, retry int) {
	s.removeUpTo((now - window).Microseconds())
	if len(s)+cost > limit {
		return false, int(math.Ceil(float64(s.oldest()+(window-now).Microseconds()) / 1e6))
	}
	for i := range cost {
		s[fmt.Sprintf("%s:%d", member, i)] = now.Microseconds()
	}
	return true, 0
}

// logWait: the oldest entry was cheap, and what must leave is not.
func logWait() Claim {
	const limit = 100
	s := sortedSet{}
	s.attempt(0, minute, limit, 1, "cheap")
	s.attempt(30*time.Second, minute, limit, 99, "dear")
	const now = 31 * time.Second
	_, said := s.attempt(now, minute, limit, 50, "refused")
	wait := 0
	for allowed := false; !allowed; {
		wait++
		later := sortedSet{}
		for member, at := range s {
			later[member] = at
		}
		allowed, _ = later.attempt(now+time.Duration(wait)*time.Second, minute, limit, 50, "again")
	}
	return Claim{Document: "001", Says: "the oldest entry plus the window tells exactly when capacity frees up, also with weighted cost",
		Found:   fmt.Sprintf("a cost of 1 at 0 s and of 99 at 30 s, limit 100; at 31 s a cost of 50 is told %d s, and is allowed after %d s", said, wait),
		Figures: map[string]float64{"said_s": float64(said), "true_s": float64(wait)}, True: said == wait}
}

// mergedMembers: document 004 takes the microsecond for score and member. Its script
// asks Redis for it and takes longer than one: on a real Redis none was seen to
// merge. Where the time is given, and by a clock of milliseconds, they do.
func mergedMembers() Claim {
	s, requests := sortedSet{}, 0
	for range 2 {
		const now = 1_700_000_000_000_000
		s[fmt.Sprint(now)] = now
		requests++
	}
	return Claim{Document: "004", Says: "the time in microseconds is score and member, which prevents collisions",
		Found:   fmt.Sprintf("%d requests in the same microsecond are %d member, and the other is not counted; but a Redis that is asked for the time needs longer than that for each", requests, len(s)),
		Figures: map[string]float64{"requests": float64(requests), "counted": float64(len(s))}, True: len(s) == requests}
}
