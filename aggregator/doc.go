// Package aggregator is what one node knows of its fleet: which keys are worth
// telling about (suspects), what is to be pushed of them, what the rest of the
// fleet reported, which block records are known to stand in Redis, and whose
// clock is wrong.
//
//	Count ──marks──▶ suspects ──Collect──▶ Push ──▶ Redis ──▶ Answer ──Answered──▶ Outcome
//	  ▲                                                          │
//	  └──────────────── the rest of the fleet ───────────────────┘
//
// Each node owns its own ring in Redis, and a push carries absolute counts of
// slots, which only grow: merging is by maximum, so that a push that is
// repeated, lost, late or re-ordered changes nothing or is made good by the
// next. What is stored in Redis is therefore never asked for; where it holds
// less than a node claims, the answer says so and the node pushes whole.
//
// The package also holds the wire forms that the function library, its twin in
// Go and the node share: the binary key, the push, its answer, the block record.
//
// It does no I/O, reads no clock and starts no goroutine. Times named now are
// the node's local time (clockguard's); slots in pushes, answers and floors
// are the epoch's.
package aggregator
