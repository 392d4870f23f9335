package admin

import (
	"net/netip"
	"time"

	"edgeguard"
	"edgeguard/internal/safetext"
	"edgeguard/internal/words"
)

// Block is an active block, or in an event one that was lifted.
type Block struct {
	Prefix netip.Prefix `json:"prefix"`
	Rule   string       `json:"rule"`            // "manual" for an operator's
	Owner  string       `json:"owner,omitempty"` // of another program's, whose rule is "owner NAME"
	Reason string       `json:"reason,omitempty"`
	Origin string       `json:"origin"` // the node that made it
	// Count and Limit are those of the crossing, 0 for an operator's block. Unit is what they
	// are of, where this node knows the rule as the origin has it.
	Count   uint32        `json:"count,omitempty"`
	Limit   uint32        `json:"limit,omitempty"`
	Unit    words.Measure `json:"unit,omitzero"`
	Since   time.Time     `json:"since"`
	Until   time.Time     `json:"until"`
	Proxied bool          `json:"proxied,omitempty"` // learned from behind a trusted proxy
	// Batch is the import that it is of.
	Batch edgeguard.BatchID `json:"batch,omitempty"`
}

// NewBlock returns a block as the API shows it. Of its reason, which another node may have
// sent, all is seen.
func NewBlock(b edgeguard.Block) Block {
	return Block{
		Prefix: b.Prefix, Rule: b.Rule, Owner: edgeguard.Owner(b.Rule), Reason: safetext.Strip(b.Reason), Origin: b.Origin,
		Count: b.Count, Limit: b.Limit, Since: b.Since.UTC(), Until: b.Until.UTC(), Proxied: b.Proxied, Batch: b.Batch,
	}
}

// ActiveBlock is a block in force, with what this node refused because of it.
type ActiveBlock struct {
	Block
	// Refused is how many events were denied by this node's own verdicts, and LastRefused
	// when the last one was. RefusedBy is a list that has the block: what a proxy or packet
	// filter refuses by it may never come to this node, so Refused is null as long
	// as nothing did.
	Refused     *uint32   `json:"refused"`
	LastRefused time.Time `json:"last_refused,omitzero"`
	RefusedBy   string    `json:"refused_by,omitempty"`
	// Of the refused, a proxy waited for the answer to Asked. A verdict on a log line
	// comes too late: of these the log says that the server turned away or served some.
	Asked      uint32 `json:"asked,omitempty"`
	TurnedAway uint32 `json:"turned_away,omitempty"`
	Served     uint32 `json:"served,omitempty"`
	// Imported says that another's list, whose name is Owner, asks for the block: it is of
	// this node only, and cannot be removed.
	Imported bool `json:"imported,omitempty"`
}

// BlockPage is one page of a list of blocks.
type BlockPage struct {
	Blocks []ActiveBlock `json:"blocks"`
	// Next is the cursor of the next page, empty on the last.
	Next string `json:"next,omitempty"`
	// Total is how many blocks are in force, of all that match or not.
	Total int `json:"total"`
	// Matched is how many blocks match; on the first page only. Where it would
	// take too long to count them, it is absent, and MatchedAtLeast is set.
	Matched        *int `json:"matched,omitempty"`
	MatchedAtLeast int  `json:"matched_at_least,omitempty"`
	// Looked is how many blocks were looked at, where there are more to look at
	// than one answer may.
	Looked int       `json:"looked,omitempty"`
	AsOf   time.Time `json:"as_of"`
}

// BlockRequest asks for a block.
type BlockRequest struct {
	// Prefix is an address or a prefix without host bits.
	Prefix string `json:"prefix"`
	// For is how long, such as "90s", "10m" or "24h"; an hour if neither it nor
	// Until is given.
	For string `json:"for,omitempty"`
	// Until is when the block ends, instead of For.
	Until time.Time `json:"until,omitzero"`
	// Reason is shown wherever the block is.
	Reason string `json:"reason,omitempty"`
	// Force blocks prefixes wider than /16 (IPv4) or /32 (IPv6) and protected
	// addresses too.
	Force bool `json:"force,omitempty"`
	// Owner names another program: the block is no operator's, but bounded as a
	// rule's is. Where a block stays that is an operator's, or that ends no sooner,
	// that one is the answer.
	Owner string `json:"owner,omitempty"`
}

// ExtendRequest moves the end of an active block, to later or to sooner. Its
// rule, counts and beginning stay.
type ExtendRequest struct {
	// For counts from now; one of For and Until is given.
	For    string    `json:"for,omitempty"`
	Until  time.Time `json:"until,omitzero"`
	Reason string    `json:"reason,omitempty"` // empty: as it was
	// Force is needed again where the block needed it.
	Force bool `json:"force,omitempty"`
}
