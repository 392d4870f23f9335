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

type counters struct{ repeated, unreadable, overlong, late atomic.Uint64 }
