package quarantine

import (
	"time"

	"edgeguard"
	"edgeguard/blocklist"
)

// Held is a record of the fleet that waits: a block, an allowance or a tombstone. Its
// times are local.
type Held struct {
	edgeguard.Block
	// Share is the part of the requests that the block would have refused when it came, at
	// At, but for what this node's own blocks by counts refused and its allowances spared. Of those that are TooMuch, one whose share is
	// within the limit needs no confirmation: it waits until there is room for it in the
	// budget.
	Share float64
	At    time.Time
	Why   Why
	Trust blocklist.Trust // of the record that waits
	kind  int             // of pace, if that is why
}

// source returns who is behind a held block or allowance.
func (h *Held) source() blocklist.Source {
	if h.Trust.Signed {
		return blocklist.Source{Kind: blocklist.Signed, Allow: h.Allow}
	}
	return blocklist.Source{Kind: blocklist.Unsigned, Allow: h.Allow}
}

// Stats is what a quarantine has done so far.
type Stats struct {
	Held              int    // now
	Total             uint64 // in all
	Confirmed         uint64 // put in force by an operator
	ConfirmedByCounts uint64 // this node made the same block by its own counts
	AdmittedLater     uint64 // put in force when there was room, in the budget or in time
	Withdrawn         uint64 // removed, replaced or expired
	NotRecorded       uint64 // held and not recorded, because the quarantine was full
}
