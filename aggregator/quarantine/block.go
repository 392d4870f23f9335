package quarantine

import (
	"time"

	"edgeguard"
)

// Held is a block of the fleet that waits for an operator's word. Its times are
// local.
type Held struct {
	edgeguard.Block
	// Share is the part of the last five minutes' requests that the block alone
	// would have refused, and that no other refused, when it came: at At. One of
	// 0 waits for room, and for nobody's word.
	Share float64
	At    time.Time
}

// Stats tells what a hold has done so far.
type Stats struct {
	Held      int    // wait now
	Came      uint64 // ever waited
	Confirmed uint64 // of them: put in force by a word
	Proven    uint64 // this node came to the same block by itself
	Released  uint64 // put in force when there was room
	Withdrawn uint64 // taken back, replaced, or over
	Unkept    uint64 // held without a record of it, for want of room
}
