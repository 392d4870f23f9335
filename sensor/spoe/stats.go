package spoe

import "sync/atomic"

// Stats counts what a listener did since it was made.
type Stats struct {
	Passed    uint64 // let through, for whatever reason
	Refused   uint64
	NoClient  uint64 // of the passed: no client address
	Panics    uint64 // of the passed: Decide panicked
	Checks    uint64 // HAProxy's health checks
	Faults    uint64 // connections that were closed: not SPOP, or none that we speak
	Strangers uint64 // connections that were closed: their peers may not speak
	Late      uint64 // connections that HAProxy had closed before its questions were read
}

type counters struct {
	passed, refused, noClient, panics, checks, faults, strangers, late atomic.Uint64
}

func (c *counters) read() Stats {
	return Stats{
		Passed: c.passed.Load(), Refused: c.refused.Load(), NoClient: c.noClient.Load(), Panics: c.panics.Load(),
		Checks: c.checks.Load(), Faults: c.faults.Load(), Strangers: c.strangers.Load(), Late: c.late.Load(),
	}
}
