// Package aggregator holds what one node knows of its fleet's counts. That is which
// keys are worth reporting (suspects), what is to be pushed of them, what the other
// nodes counted, which block records Redis has, and whose clock is wrong.
//
//	Count ──marks──▶ suspects ──Collect──▶ Push ──▶ Redis ──▶ Answer ──Answered──▶ Outcome
//	  ▲                                                          │
//	  └──────────────── the rest of the fleet ───────────────────┘
//
// Each node owns its own ring in Redis. A push carries absolute counts of
// slots, which only grow, and merging takes the maximum. So a push that is
// repeated, late or out of order changes nothing, and the next one makes up for
// a lost one. A node never reads back what Redis stores: where that is less
// than the node claims, the answer says so, and the node pushes all slots.
//
// The package also holds the wire forms that the function library, its
// reference in Go and the node share: the binary key, the push, its answer, the
// block record.
//
// It does no I/O, reads no clock and starts no goroutine. Times named now are
// the node's local time (clockguard's); slots in pushes and answers are the
// epoch's.
package aggregator
