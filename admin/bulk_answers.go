package admin

import (
	"fmt"
	"net/http"
	"time"

	"edgeguard"
	"edgeguard/admin/access"
	"edgeguard/admin/call"
)

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
