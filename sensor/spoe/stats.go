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

type counters struct{ checks, faults, strangers, late atomic.Uint64 }
