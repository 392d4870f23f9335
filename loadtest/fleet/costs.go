package fleet

import (
	"math"
	"time"
)

// Costs are what commands cost the processor of a Redis that is busy, in µs. One that is
// not pays for each exchange's own waking, reading and writing, too: up to ten times as
// much for a command that comes alone.
type Costs struct {
	Measured string  // where and when
	Call     float64 // a push call, beside its keys
	Push     float64 // a key that is pushed
	Full     float64 // a key that is pushed with all its slots
	Offer    float64 // a key of which a sum is compared
	Split    float64 // the split of one key, over 8 nodes
	Publish  float64 // a record
	Beat     float64 // a heartbeat at 1,000 nodes
	Whole    float64 // a read of all heartbeats of 1,000 nodes
	Watch    float64 // an entry of the watch list
	Read     float64 // a read of the streams that brings something
	Idle     float64 // one that waits in vain
}

// Measured are the figures of docs/scale.md: a test compares them.
var Measured = Costs{
	Measured: "Redis 7.0 on two shared cores (AMD EPYC), November 2026",
	Call:     4, Push: 4.3, Full: 6.3, Offer: 2.3, Split: 20, Publish: 11, Beat: 41, Whole: 3120, Watch: 9.5, Read: 9.5, Idle: 21,
}

// of is the processor time of so many, in whole nanoseconds: sums of floats would
// depend on their order.
func of(count uint64, micros float64) time.Duration {
	return time.Duration(count) * time.Duration(math.Round(1000*micros))
}
