package httpauth

import "sync/atomic"

// Stats counts what a listener did since it was made.
type Stats struct {
	Passed     uint64 // answered 200, for whatever reason
	Refused    uint64 // answered 429
	Repeated   uint64 // of both: asked again, answered from memory
	NoClient   uint64 // of the passed: no usable client address
	Panics     uint64 // of the passed: Decide panicked
	Strangers  uint64 // asked by a peer that is not trusted
	Unreadable uint64 // over the header limit or not HTTP
	Overlong   uint64 // of the unreadable: counted all the same
	Late       uint64 // answered after 100 ms, or after the proxy had hung up
}

type counters struct {
	passed, refused, repeated, noClient, panics, strangers, unreadable, overlong, late atomic.Uint64
}

func (c *counters) read() Stats {
	return Stats{
		Passed: c.passed.Load(), Refused: c.refused.Load(), Repeated: c.repeated.Load(),
		NoClient: c.noClient.Load(), Panics: c.panics.Load(), Strangers: c.strangers.Load(),
		Unreadable: c.unreadable.Load(), Overlong: c.overlong.Load(), Late: c.late.Load(),
	}
}
