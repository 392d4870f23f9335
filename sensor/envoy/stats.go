package envoy

import "sync/atomic"

// Stats counts what a listener did since it was made.
type Stats struct {
	Passed     uint64 // let through, for whatever reason
	Refused    uint64
	NoClient   uint64 // of the passed: no client address
	Panics     uint64 // of the passed: Decide panicked
	LookedUp   uint64 // of both: a call that adds no hits
	TooLong    uint64 // of the refused: too long to be read
	Strangers  uint64 // asked by a peer that is not trusted
	Unreadable uint64 // answered with an error: not a call of a known method
	Crowded    uint64 // answered with an error: too much was being read
	Checks     uint64 // health checks
	Late       uint64 // of both: Envoy had given it up before
	// TurnedOff is how many connections were ended for frames that carry no question.
	TurnedOff uint64
}

// Events returns how many of the calls were handed in as events.
func (s Stats) Events() uint64 { return s.Passed + s.Refused - s.NoClient - s.TooLong - s.LookedUp }

type counters struct {
	lookedUp, tooLong, unreadable, crowded, checks, late, turnedOff atomic.Uint64
}

func (a *asker) read() Stats {
	c := &a.stats
	return Stats{ // first the parts, so that they are no more than the whole
		NoClient: a.NoClient.Load(), Panics: a.Panics.Load(), LookedUp: c.lookedUp.Load(), TooLong: c.tooLong.Load(),
		Passed: a.Passed.Load(), Refused: a.Refused.Load(), Strangers: a.Strangers.Load(), Unreadable: c.unreadable.Load(), Crowded: c.crowded.Load(), Checks: c.checks.Load(),
		Late: c.late.Load(), TurnedOff: c.turnedOff.Load(),
	}
}
