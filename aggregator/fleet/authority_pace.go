package fleet

import "time"

const (
	// mostTried bounds the prefixes whose tries are remembered; a random one is
	// forgotten for another. A minute of tries at full pace fits.
	mostTried = 4096
	// eachSecond bounds the tries of all prefixes.
	eachSecond = 50
	// longestWait is the longest wait between two tries of a prefix, and after
	// how long without one it starts again.
	longestWait, triedAgo = time.Minute, 10 * time.Minute
)

// AcceptPace says how often a node may replace a record in Redis that is wrong: each
// prefix after 0, 1, 2, 4 and up to 60 seconds, and 50 in a second. A node that
// accepts unsigned records and one that does not see some records differently,
// and would write them in turns as fast as they read. The zero value is ready.
// It is not safe for concurrent use.
type AcceptPace struct {
	tried map[string]tries
	begun time.Time // of the second that is counted
	used  int       // tries in it
}

type tries struct {
	first, last time.Time
	wait        time.Duration
}

// MayReplace reports whether the record of this prefix may be replaced now, and since
// when it was tried. If so, the try is counted.
func (p *AcceptPace) MayReplace(prefix string, now time.Time) (since time.Time, ok bool) {
	if age := now.Sub(p.begun); age >= time.Second || age < 0 {
		p.begun, p.used = now, 0
	}
	if p.used >= eachSecond {
		return time.Time{}, false
	}
	t, known := p.tried[prefix]
	switch age := now.Sub(t.last); {
	case !known || age >= triedAgo:
		t = tries{first: now}
	case age < t.wait:
		return time.Time{}, false
	default:
		t.wait = min(longestWait, max(time.Second, 2*t.wait))
	}
	if t.last.IsZero() {
		t.wait = time.Second
	}
	t.last = now
	p.remember(prefix, t)
	p.used++
	return t.first, true
}

func (p *AcceptPace) remember(prefix string, t tries) {
	if p.tried == nil {
		p.tried = make(map[string]tries)
	}
	if _, known := p.tried[prefix]; !known && len(p.tried) >= mostTried {
		for other := range p.tried { // the order of a map is random
			delete(p.tried, other)
			break
		}
	}
	p.tried[prefix] = t
}
