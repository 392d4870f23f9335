package aggregator

import "edgeguard/shard"

// Meter is one meter of the detector as the fleet sees it.
type Meter struct {
	// Fingerprint identifies it on all nodes.
	Fingerprint uint64
	// Width is its slot in seconds.
	Width uint32
	// Limit is the least limit of its rules that count for the fleet; 0: it has
	// none, and nothing of it is told.
	Limit uint32
	// V4 and V6 are the prefix lengths of its keys, as in shard.Config; 0 means
	// 32 and 64.
	V4, V6 uint8
	// With says that its keys carry attributes, as in shard.Config.
	With bool
	// Table holds this node's counts on proven evidence.
	Table *shard.Table
}
