package admin

import (
	"fmt"
	"net/http"
	"net/netip"
	"time"

	"edgeguard"
	"edgeguard/admin/access"
	"edgeguard/admin/call"
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

// BulkAnswers answers imports.
type BulkAnswers struct {
	node BulkImporter
	list BulkList
	// audited makes a change if the caller may, and records it.
	audited func(by access.Caller, action, target string, change func(detail *string) *call.Problem) *call.Problem
}

// newBulkAnswers returns the imports of a node.
func newBulkAnswers(node BulkImporter, list BulkList, audited func(access.Caller, string, string, func(*string) *call.Problem) *call.Problem) *BulkAnswers {
	return &BulkAnswers{node: node, list: list, audited: audited}
}

// Answer answers POST of an import. One record of the audit is about all its blocks.
func (s *BulkAnswers) Answer(w http.ResponseWriter, r *http.Request) *call.Problem {
	var done BulkDone
	p := s.audited(access.CallerOf(r), "import", "", func(detail *string) *call.Problem {
		var request BulkRequest
		if p := call.ReadLarge(w, r, maxBody, "send fewer blocks per request", &request); p != nil {
			return p
		}
		if n := len(request.Blocks); n == 0 || n > MostBulk {
			return call.NewProblem(http.StatusBadRequest, "blocks", fmt.Sprintf("has %d blocks", n), fmt.Sprintf("send 1 to %d", MostBulk))
		}
		if !(request.Spent >= 0 && request.Spent <= 1) {
			return call.NewProblem(http.StatusBadRequest, "spent", "is not from 0 to 1", "send that of the answer before")
		}
		done = s.all(&request)
		*detail = fmt.Sprintf("%d added, %d stay, %d refused", done.Added, done.Stays, done.Refused)
		if request.DryRun {
			*detail += ", dry run"
		}
		return nil
	})
	if p == nil {
		call.SendJSON(w, http.StatusOK, done)
	}
	return p
}

// all makes the blocks of a request one after the other.
func (s *BulkAnswers) all(request *BulkRequest) BulkDone {
	done := BulkDone{Results: make([]BulkResult, 0, len(request.Blocks)), Spent: request.Spent}
	for i := range request.Blocks {
		e := &request.Blocks[i]
		one := BulkResult{Prefix: call.Clip(e.Prefix), Result: BulkAdded}
		stays, share, p := s.one(e, done.Spent, request.DryRun)
		switch {
		case p != nil:
			one.Result, one.Detail, one.Fix = Refused, p.Detail, p.Fix
			done.Refused++
		case stays != nil:
			one.Result, one.Detail = Stays, fmt.Sprintf("blocked by %s until %s", stays.Rule, stays.Until.UTC().Format(time.RFC3339))
			done.Stays++
		default:
			done.Added++
		}
		done.Spent = min(1, done.Spent+share)
		done.Results = append(done.Results, one)
	}
	return done
}

// one makes one block, and returns the share of requests that it newly refuses; or the
// block that stays.
func (s *BulkAnswers) one(e *BulkEntry, spent float64, try bool) (stays *edgeguard.Block, share float64, p *call.Problem) {
	now := s.list.Now()
	b, p := planEntry(now, e)
	if p != nil {
		return nil, 0, p
	}
	if old, ok := s.list.Exact(now, b.Prefix); ok && keeps(&old, &b) {
		return &old, 0, nil
	}
	made, share, err := s.node.Import(b, spent, try)
	if p := refusedProblem(err); p != nil {
		if p.Forceable {
			p.Fix = "if this is intended, block it by itself, with force"
		}
		return nil, 0, p
	}
	if made.Rule != b.Rule {
		return &made, 0, nil // it was made in the meantime
	}
	return nil, share, nil
}

// planEntry makes a block of an entry.
func planEntry(now time.Time, e *BulkEntry) (b edgeguard.Block, p *call.Problem) {
	b = edgeguard.Block{Reason: e.Reason, Since: now}
	if b.Prefix, p = call.ParsePrefix("prefix", e.Prefix); p != nil {
		return b, p
	}
	if b.Until, p = call.Until(now, e.For, e.Until, call.DefaultFor); p != nil {
		return b, p
	}
	if b.Rule, p = OwnerRule(e.Owner, false); p != nil {
		return b, p
	}
	return b, call.CheckReason(e.Reason)
}

// keeps reports whether a block that is in force stays where another is imported: where
// it ends later, or says the same, so that the same file can be imported again: its end
// may have moved with a correction of the clock. An operator's stays before an owner's.
func keeps(old, b *edgeguard.Block) bool {
	switch {
	case edgeguard.Owner(b.Rule) != "" && old.Rule == edgeguard.ManualRule:
		return true
	case old.Rule == b.Rule && old.Reason == b.Reason:
		return b.Until.Sub(old.Until) < time.Second
	}
	return old.Until.After(b.Until)
}
