package admin

import (
	"net/netip"
	"time"

	"edgeguard"
)

// This file is the API's import of blocks: many in one request, each with its result.

const (
	// MostBulk is the most blocks of a request. A thousand longest reasons would not fit
	// into its body.
	MostBulk = 500
	maxBody  = 1 << 20 // bytes
)

// BulkEntry asks for one block.
type BulkEntry struct {
	// Prefix is an address or a prefix without host bits.
	Prefix string `json:"prefix"`
	// For or Until is how long or until when; an hour if neither is given.
	For    string    `json:"for,omitempty"`
	Until  time.Time `json:"until,omitzero"`
	Reason string    `json:"reason,omitempty"`
	// Owner names another program whose block it is.
	Owner string `json:"owner,omitempty"`
}

// BulkRequest asks for many blocks. None can be forced.
type BulkRequest struct {
	Blocks []BulkEntry `json:"blocks"`
	// Spent is the part of the last five minutes' requests that the blocks of the
	// import's earlier requests newly refuse: see Done.
	Spent float64 `json:"spent,omitempty"`
	// DryRun changes nothing, and says what would be done.
	DryRun bool `json:"dry_run,omitempty"`
}

// The results of an entry.
const (
	BulkAdded = "added"   // it is in force
	Stays     = "stays"   // another block of the prefix stays, which ends no sooner
	Refused   = "refused" // it is not in force
)

// BulkResult is what became of an entry.
type BulkResult struct {
	Prefix string `json:"prefix"` // as it was asked for
	Result string `json:"result"` // "added", "stays" or "refused"
	Detail string `json:"detail,omitempty"`
	Fix    string `json:"fix,omitempty"`
}

// BulkDone is the results in the order of the entries.
type BulkDone struct {
	Results []BulkResult `json:"results"`
	Added   int          `json:"added"`
	Stays   int          `json:"stays"`
	Refused int          `json:"refused"`
	// Spent is the part of the last five minutes' requests that all blocks of the
	// import so far newly refuse, to be sent with its next request. A block that would
	// raise it above fleet.confirm_share is refused.
	Spent float64 `json:"spent"`
}

// BulkImporter is what an import needs of a node.
type BulkImporter interface {
	// Import puts a block in force as an operator's that is not forced, or only tries
	// to if try is set. It refuses one that with the spent share would refuse too much,
	// and returns the share that the block newly refuses.
	Import(b edgeguard.Block, spent float64, try bool) (edgeguard.Block, float64, error)
}

// BulkList is the node's list of blocks.
type BulkList interface {
	Now() time.Time
	Exact(now time.Time, prefix netip.Prefix) (edgeguard.Block, bool)
}
