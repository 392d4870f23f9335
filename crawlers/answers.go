package crawlers

import (
	"net/netip"
	"time"
)

const (
	// mostAnswers is how many answers of one sort are remembered: those that
	// confirm a crawler are apart, so that others never push them out.
	mostAnswers = 8192
	// How long an answer is good for: that an address is a crawler's, that it is
	// not, and that DNS failed.
	confirmedFor, refusedFor, failedFor = 24 * time.Hour, time.Hour, time.Minute
)

// answer is what DNS said of an address.
type answer struct {
	confirmed uint64 // crawlers, a bit each
	definite  bool   // the others are not
	until     time.Time
}

// answers remembers a bounded number of them.
type answers struct{ confirmed, others map[netip.Addr]answer }

func newAnswers() answers {
	return answers{make(map[netip.Addr]answer), make(map[netip.Addr]answer)}
}

func (s *answers) answerFor(now time.Time, addr netip.Addr) (answer, bool) {
	a, ok := s.confirmed[addr]
	if !ok {
		a, ok = s.others[addr]
	}
	if !ok || !now.Before(a.until) {
		return answer{}, false
	}
	return a, true
}

// putAnswer remembers an answer. One that is asked for again after it failed keeps what
// it confirmed before.
func (s *answers) putAnswer(now time.Time, addr netip.Addr, crawlers uint64, definite bool) {
	if crawlers == 0 && !definite {
		if a, ok := s.confirmed[addr]; ok { // it was a crawler's a day ago, and DNS is away
			a.until = now.Add(failedFor)
			s.confirmed[addr] = a
			return
		}
	}
	delete(s.confirmed, addr)
	delete(s.others, addr)
	into, a := s.others, answer{confirmed: crawlers, definite: definite}
	switch {
	case crawlers != 0:
		into, a.until = s.confirmed, now.Add(confirmedFor)
	case definite:
		a.until = now.Add(refusedFor)
	default:
		a.until = now.Add(failedFor)
	}
	if len(into) >= mostAnswers {
		makeRoom(into, now)
	}
	into[addr] = a
}

// makeRoom removes the answers that are out of date, or else any one.
func makeRoom(from map[netip.Addr]answer, now time.Time) {
	for addr, a := range from {
		if !now.Before(a.until) {
			delete(from, addr)
		}
	}
	for addr := range from {
		if len(from) < mostAnswers {
			return
		}
		delete(from, addr)
	}
}

func (s *answers) len() int { return len(s.confirmed) + len(s.others) }
