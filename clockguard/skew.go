package clockguard

import (
	"sync"
	"time"
)

const (
	// skewSamples is how many samples a Skew keeps: eight, as NTP's clock
	// filter does (RFC 5905, section 10).
	skewSamples = 8
	// drift is how fast two clocks may diverge unwatched, in parts per
	// million: RFC 5905's PHI.
	drift = 15
	// jump is how far a sample may lie beside the others and be of the same
	// clock.
	jump = time.Second
)

// Sample is one exchange with a server that sends its time.
type Sample struct {
	// Sent and Received are the monotonic clock before and after the exchange:
	// [Reading].Mono.
	Sent, Received time.Duration
	// Server is what the server said.
	Server time.Time
}

// trip is the time that the exchange took.
func (s *Sample) trip() time.Duration { return s.Received - s.Sent }

// at is the server's time at mono, if it spoke half way through the exchange.
func (s *Sample) at(mono time.Duration) time.Time {
	return s.Server.Add(mono - s.Sent - s.trip()/2)
}

// Skew keeps a server's time: what the server would say, and how far that is
// from this host's clock. Of the last eight samples it uses the one with the
// shortest round trip. What makes a trip long is waiting, and waiting one way only
// is what makes a sample wrong (the clock filter of RFC 5905, section 10). Samples
// are timed by the monotonic clock, so steps of the wall clock between them do no
// harm.
//
// The zero value is ready. Safe for concurrent use.
type Skew struct {
	mu      sync.Mutex // guards what follows
	samples [skewSamples]Sample
	count   int // of the samples taken since the last jump
}

// Add accepts a sample. One that was received before it was sent is passed
// over. One that is more than a second beside what those before it say is of
// another clock, a server that took over or one that was set: they are
// forgotten.
func (s *Skew) Add(sample Sample) {
	trip := sample.trip()
	if trip < 0 {
		return
	}
	sample.Server = sample.Server.Round(0)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.count > 0 && s.best().at(sample.Sent+trip/2).Sub(sample.Server).Abs() > jump+trip {
		s.count = 0
	}
	s.samples[s.count%skewSamples] = sample
	s.count++
}

// Server is what the server's clock says at a monotonic reading, and within how
// much of it the truth lies: half the round trip, and what clocks may drift
// apart since. Ok is false before the first sample.
func (s *Skew) Server(mono time.Duration) (now time.Time, within time.Duration, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.count == 0 {
		return time.Time{}, 0, false
	}
	best := s.best()
	half := best.trip() / 2
	age := (mono - best.Sent - half).Abs()
	return best.at(mono), best.trip() - half + age/1_000_000*drift, true
}

// Offset is how far the server's clock is ahead of the reading's wall clock,
// negative where it is behind: what [Clock.Correct] takes. Within and ok are
// those of [Skew.Server].
func (s *Skew) Offset(r Reading) (offset, within time.Duration, ok bool) {
	now, within, ok := s.Server(r.Mono)
	if !ok {
		return 0, 0, false
	}
	return now.Sub(r.wall()), within, true
}

// best is the sample to believe; there is one at least.
func (s *Skew) best() *Sample {
	best := &s.samples[0]
	for i := range min(s.count, skewSamples) {
		// The newer of two that are equally good.
		if other := &s.samples[i]; other.trip() < best.trip() || other.trip() == best.trip() && other.Received > best.Received {
			best = other
		}
	}
	return best
}
