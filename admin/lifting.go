package admin

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"

	"edgeguard"
	"edgeguard/admin/access"
	"edgeguard/admin/call"
	"edgeguard/blocklist"
	"edgeguard/internal/words"
)

// The actions of changes of many blocks in an audit.
const (
	unblockMany  = "unblock many"
	disallowMany = "disallow many"
	restoreMany  = "restore many"
)

// BulkLifter is what a change that lifts many blocks or allowances needs of a node.
type BulkLifter interface {
	// UnblockMany takes back those of the blocks that are still the same, by rule and version, or
	// only tries to if try is set. What one had replaced is in force again, unless goes says of
	// it that it is to go, too; such a one is forgotten where it is not in force, either. What rules
	// had counted is cleared for the blocks that they made.
	UnblockMany(blocks []edgeguard.Block, goes func(*edgeguard.Block) bool, reason string, try bool) []blocklist.Lifted

	// PutBack puts one in force again, if nothing has happened to its prefix since: else
	// still is false. The error wraps one of package blocklist.
	PutBack(x blocklist.Lifted) (b edgeguard.Block, still bool, err error)
}

// BulkLifted is what came of lifting many blocks, or with dry_run would.
type BulkLifted struct {
	Lifted int `json:"lifted"`
	// Restored of them had replaced another block, which is in force again.
	Restored int `json:"restored,omitempty"`
	// Changed are no longer what was found, or have ended, and were left alone.
	Changed int `json:"changed,omitempty"`
	// More says that more blocks match: one request lifts 100,000.
	More bool `json:"more,omitempty"`
	// Blocked of them stay blocked, inside a wider block or by a list of others.
	Blocked int `json:"blocked,omitempty"`
	// Rules is how many of the lifted were made by each rule.
	Rules map[string]int `json:"rules,omitempty"`
	// Batch is the name by which they are put back; empty where there is none.
	Batch edgeguard.BatchID `json:"batch,omitempty"`

	lifted []blocklist.Lifted
	what   string
}

// UnblockMany lifts the blocks or the allowances of a selection, or only says what that would do. One record of
// the audit is about all of them.
func (c *Changes) UnblockMany(ctx context.Context, by access.Caller, s *Selection, reason string, try bool) (done BulkLifted, p *call.Problem) {
	lift := func(record *Audit) *call.Problem {
		if p := call.CheckReason(reason); p != nil {
			return p
		}
		if s.Attack != "" && !c.view.ofAttack(ctx, s) {
			return call.NewProblem(http.StatusNotFound, "attack", strconv.Quote(call.Clip(s.Attack))+" is no attack that is known", "look at the attacks")
		}
		why := cmp.Or(reason, "lifted by hand")
		found, more := c.view.selected(s, MostLifted)
		goes := func(b *edgeguard.Block) bool { return s.has(b, c.view.events.node) }
		done = newBulkLifted(c.operator.UnblockMany(found, goes, why, try), s.String())
		done.Changed, done.More = len(found)-done.Lifted, more
		for i := range done.lifted {
			record.Prefixes = append(record.Prefixes, done.lifted[i].Was.Prefix)
			if done.lifted[i].Left.Lifted && c.view.isInside(done.lifted[i].Was.Prefix) {
				done.Blocked++
			}
		}
		record.Detail = fmt.Sprintf("%d lifted: %s", done.Lifted, why)
		if done.Restored > 0 {
			record.Detail = fmt.Sprintf("%d lifted, of which %d had replaced a block that is in force again: %s", done.Lifted, done.Restored, why)
		}
		if !try && done.Lifted > 0 {
			done.Batch = newBatch()
			record.Batch = done.Batch
			c.lifted.keep(done)
		}
		return nil
	}
	if try {
		if p = mayChange(by); p == nil {
			p = lift(new(Audit))
		}
		return done, p
	}
	return done, c.audited(by, Audit{Action: s.Action(), Target: call.Clip(s.String())}, lift)
}

// isInside reports whether a wider block than one of exactly this prefix is in force, or an imported
// one.
func (v *View) isInside(p netip.Prefix) bool {
	now := v.reader.Now()
	wider := func(b edgeguard.Block) bool { return b.Prefix != p }
	return slices.ContainsFunc(v.reader.Find(now, p), wider) || len(v.reader.ImportedAround(now, p)) > 0
}

func newBulkLifted(lifted []blocklist.Lifted, what string) BulkLifted {
	done := BulkLifted{Lifted: len(lifted), Rules: make(map[string]int), lifted: lifted, what: what}
	for i := range lifted {
		done.Rules[lifted[i].Was.Rule]++
		if !lifted[i].Left.Lifted {
			done.Restored++
		}
	}
	return done
}

// First returns the first n of the lifted.
func (d *BulkLifted) First(n int) (all []netip.Prefix) {
	for i := range d.lifted[:min(n, len(d.lifted))] {
		all = append(all, d.lifted[i].Was.Prefix)
	}
	return all
}

// mostLiftedKept bounds what is remembered of the lifted: 100 MB.
const mostLiftedKept = 2 * MostLifted

// liftings are the last changes that lifted many. The zero value is ready, and safe for concurrent use.
type liftings struct {
	mu  sync.Mutex   // guards all
	all []BulkLifted // the oldest first
}

// keep remembers a change, and forgets the oldest that exceed the bound with it.
func (l *liftings) keep(d BulkLifted) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, d)
	sum := 0
	for i, one := range slices.Backward(l.all) {
		if sum += one.Lifted; sum > mostLiftedKept {
			l.all = slices.Delete(l.all, 0, i+1)
			break
		}
	}
}

// take returns the change of a name, which is forgotten.
func (l *liftings) take(name edgeguard.BatchID) (d BulkLifted, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.all, func(d BulkLifted) bool { return d.Batch == name })
	if i < 0 {
		return d, false
	}
	d = l.all[i]
	l.all = slices.Delete(l.all, i, i+1)
	return d, true
}

// BulkRestored is what came of taking back that many blocks were lifted.
type BulkRestored struct {
	Restored int `json:"restored"`
	// Changed were blocked or allowed in another way since, Refused are what the list refuses.
	Changed int `json:"changed,omitempty"`
	Refused int `json:"refused,omitempty"`
}

// RestoreMany puts in force again what UnblockMany lifted under a name, as it was. Where something
// has happened to a prefix since, that stays.
func (c *Changes) RestoreMany(by access.Caller, name edgeguard.BatchID) (done BulkRestored, p *call.Problem) {
	p = c.audited(by, Audit{Action: restoreMany, Target: "batch " + name.String()}, func(record *Audit) *call.Problem {
		was, known := c.lifted.take(name)
		if !known {
			return call.NewProblem(http.StatusNotFound, "batch", "nothing is known that was lifted as "+name.String()+": it was put back, the node was restarted since, or many others were lifted", "block it by hand")
		}
		record.Target = call.Clip(was.what)
		var back []netip.Prefix
		for i := range was.lifted {
			switch b, still, err := c.operator.PutBack(was.lifted[i]); {
			case !still:
				done.Changed++
			case err != nil:
				done.Refused++
			default:
				back = append(back, b.Prefix)
			}
		}
		done.Restored, record.Prefixes = len(back), back
		record.Detail = done.String()
		return nil
	})
	return done, p
}

// String says what came of it.
func (d *BulkRestored) String() string {
	parts := []string{words.Plural(d.Restored, "block is", "blocks are") + " in force again"}
	if d.Changed > 0 {
		parts = append(parts, words.Plural(d.Changed, "prefix was", "prefixes were")+" blocked, extended or allowed since and left as they are")
	}
	if d.Refused > 0 {
		parts = append(parts, words.Plural(d.Refused, "block has", "blocks have")+" ended or may not be in force any more")
	}
	return strings.Join(parts, "; ")
}
