package admin

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"time"

	"edgeguard"
	"edgeguard/admin/access"
	"edgeguard/admin/call"
)

const (
	// MostBulk is the most entries of a request.
	MostBulk = 100_000

	// The actions of imports in an audit.
	importBlocks     = "import"
	importAllowances = "import allowances"
)

// BulkEntry asks for one block, or one allowance.
type BulkEntry struct {
	// Prefix is an address or a prefix without host bits.
	Prefix string `json:"prefix"`
	// For or Until is how long or until when; if neither is given an hour, and of an allowance
	// until it is removed.
	For    string    `json:"for,omitempty"`
	Until  time.Time `json:"until,omitzero"`
	Reason string    `json:"reason,omitempty"`
	// Owner names another program whose block it is. An allowance has none.
	Owner string `json:"owner,omitempty"`
}

// BulkRequest asks for many blocks, or many allowances. None can be forced.
type BulkRequest struct {
	Blocks []BulkEntry `json:"blocks"`
	// Spent is the part of the last five minutes' requests that the blocks of the
	// import's earlier requests newly refuse: see Done.
	Spent float64 `json:"spent,omitempty"`
	// Batch is that of the answer to the import's earlier request, where one does not hold all.
	Batch edgeguard.BatchID `json:"batch,omitempty"`
	// DryRun changes nothing, and says what would be done.
	DryRun bool `json:"dry_run,omitempty"`
}

// The results of an entry.
const (
	BulkAdded   = "added"   // it is in force
	BulkStays   = "stays"   // another block of the prefix stays, which ends no sooner
	BulkRefused = "refused" // it is not in force
)

// BulkResult is what became of an entry.
type BulkResult struct {
	Prefix string `json:"prefix"` // as it was asked for
	Result string `json:"result"` // "added", "stays" or "refused"
	Detail string `json:"detail,omitempty"`
	Fix    string `json:"fix,omitempty"`
	// MayBeCustomer says of a dry run that the site served pages to it.
	MayBeCustomer bool `json:"may_be_customer,omitempty"`
}

// BulkDone is the results in the order of the entries.
type BulkDone struct {
	Results []BulkResult `json:"results"`
	Added   int          `json:"added"`
	Stays   int          `json:"stays"`
	Refused int          `json:"refused"`
	// Batch is the name of those that were added, by which they can be taken back together.
	Batch edgeguard.BatchID `json:"batch,omitempty"`
	// Spent is the part of the last five minutes' requests that all blocks of the
	// import so far newly refuse, to be sent with its next request. A block that would
	// raise it above fleet.confirm_share is refused.
	Spent float64 `json:"spent"`
}

// BulkImporter is what an import needs of a node.
type BulkImporter interface {
	// Import puts a block or an allowance in force as an operator's that is not forced, or only
	// tries to if try is set. It refuses a block that with the spent share would refuse too much,
	// and returns the share that the block newly refuses.
	Import(b edgeguard.Block, spent float64, try bool) (edgeguard.Block, float64, error)
}

// Import makes many blocks, or with allow many allowances. One record of the audit is about all of
// them.
func (c *Changes) Import(by access.Caller, request *BulkRequest, allow bool) (done BulkDone, p *call.Problem) {
	p = c.audited(by, Audit{Action: ImportAction(allow)}, func(record *Audit) *call.Problem {
		if n := len(request.Blocks); n == 0 || n > MostBulk {
			return call.NewProblem(http.StatusBadRequest, "blocks", fmt.Sprintf("has %d blocks", n), fmt.Sprintf("send 1 to %d", MostBulk))
		}
		if !(request.Spent >= 0 && request.Spent <= 1) {
			return call.NewProblem(http.StatusBadRequest, "spent", "is not from 0 to 1", "send that of the answer before")
		}
		if request.Batch == 0 {
			request.Batch = newBatch()
		}
		done = c.importAll(request, allow)
		record.Detail = fmt.Sprintf("%d added, %d stay, %d refused", done.Added, done.Stays, done.Refused)
		if request.DryRun {
			record.Detail += ", dry run"
			return nil
		}
		if done.Added > 0 {
			done.Batch, record.Batch, record.Target = request.Batch, request.Batch, "batch "+request.Batch.String()
		}
		for _, one := range done.Results {
			if p, ok := keyPrefix(one.Prefix); ok && one.Result == BulkAdded {
				record.Prefixes = append(record.Prefixes, p)
			}
		}
		return nil
	})
	return done, p
}

// PreviewImport returns what an import of blocks would do.
func (c *Changes) PreviewImport(request *BulkRequest) BulkDone {
	request.DryRun = true
	return c.importAll(request, false)
}

// newBatch returns the name of a change of many.
func newBatch() edgeguard.BatchID { return edgeguard.BatchID(1 + rand.Uint32N(math.MaxUint32)) }

// ImportAction returns what the audit calls an import of allowances, or of blocks.
func ImportAction(allow bool) string {
	if allow {
		return importAllowances
	}
	return importBlocks
}

// importAll makes the blocks of a request one after the other.
func (c *Changes) importAll(request *BulkRequest, allow bool) BulkDone {
	done := BulkDone{Results: make([]BulkResult, 0, len(request.Blocks)), Spent: request.Spent}
	for i := range request.Blocks {
		e := &request.Blocks[i]
		one := BulkResult{Prefix: call.Clip(e.Prefix), Result: BulkAdded}
		stays, share, p := c.importOne(e, edgeguard.Block{Batch: request.Batch, Allow: allow}, done.Spent, request.DryRun)
		switch {
		case p != nil:
			one.Result, one.Detail, one.Fix = BulkRefused, p.Detail, p.Fix
			done.Refused++
		case stays != nil:
			one.Result, one.Detail = BulkStays, fmt.Sprintf("blocked by %s %s", stays.Rule, lasts(stays.Until))
			if allow {
				one.Detail = "allowed " + lasts(stays.Until)
			}
			done.Stays++
		default:
			done.Added++
			if prefix, ok := keyPrefix(e.Prefix); ok && request.DryRun && !allow {
				one.MayBeCustomer = c.view.reader.MayBeCustomer(prefix)
			}
		}
		done.Spent = min(1, done.Spent+share)
		done.Results = append(done.Results, one)
	}
	return done
}

// importOne makes one of a kind, and returns the share of requests that it newly refuses; or what
// stays.
func (c *Changes) importOne(e *BulkEntry, kind edgeguard.Block, spent float64, try bool) (stays *edgeguard.Block, share float64, p *call.Problem) {
	now := c.view.reader.Now()
	b, p := planEntry(now, e, kind.Allow)
	if p != nil {
		return nil, 0, p
	}
	b.Batch, b.Allow = kind.Batch, kind.Allow
	old, ok := c.view.reader.Exact(now, b.Prefix)
	if b.Allow {
		old, ok = c.view.reader.ExactAllowance(now, b.Prefix)
	}
	if ok && keeps(&old, &b) {
		return &old, 0, nil
	}
	made, share, err := c.operator.Import(b, spent, try)
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
func planEntry(now time.Time, e *BulkEntry, allow bool) (b edgeguard.Block, p *call.Problem) {
	b = edgeguard.Block{Reason: e.Reason, Since: now, Until: edgeguard.Forever}
	if b.Prefix, p = call.ParsePrefix("prefix", e.Prefix); p != nil {
		return b, p
	}
	if !allow || e.For != "" || !e.Until.IsZero() {
		if b.Until, p = call.Until(now, e.For, e.Until, call.DefaultFor); p != nil {
			return b, p
		}
	}
	if allow && e.Owner != "" {
		return b, call.NewProblem(http.StatusBadRequest, "owner", "an allowance has no owner", "leave it out")
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
