package admin

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"time"

	"edgeguard"
	"edgeguard/admin/access"
	"edgeguard/admin/call"
)

// Block puts a block in force and returns it.
func (c *Changes) Block(by access.Caller, request BlockRequest) (made Block, p *call.Problem) {
	p = c.audited(by, Audit{Action: "block", Target: call.Clip(request.Prefix)}, func(record *Audit) *call.Problem {
		b, p := c.planBlock(&request)
		if p != nil {
			return p
		}
		made, p = c.put(b, request.Force, record)
		return p
	})
	return made, p
}

// planBlock makes a block of a request. One that would let an address in
// sooner than the active block is refused: a request for a block of ten minutes
// is not meant to shorten one of a day.
func (c *Changes) planBlock(request *BlockRequest) (edgeguard.Block, *call.Problem) {
	now := c.view.reader.Now()
	prefix, p := call.ParsePrefix("prefix", request.Prefix)
	if p != nil {
		return edgeguard.Block{}, p
	}
	until, p := call.Until(now, request.For, request.Until, call.DefaultFor)
	if p != nil {
		return edgeguard.Block{}, p
	}
	if p := call.CheckReason(request.Reason); p != nil {
		return edgeguard.Block{}, p
	}
	rule, p := OwnerRule(request.Owner, request.Force)
	if p != nil {
		return edgeguard.Block{}, p
	}
	if old, ok := exact(c.view.reader.Find(now, prefix), prefix); ok && request.Owner == "" && old.Until.After(until) {
		return edgeguard.Block{}, call.NewProblem(http.StatusConflict, "prefix", fmt.Sprintf("%s is already blocked by rule %s until %s", prefix, old.Rule, old.Until.UTC().Format(time.RFC3339)), "move its end instead: `edgeguard blocks extend`, or PATCH")
	}
	return edgeguard.Block{Prefix: prefix, Rule: rule, Reason: request.Reason, Since: now, Until: until}, nil
}

// Restore puts a block in force again as it was: with its rule, count, start and end. It
// is the way back from a change, and refused unless the block of its prefix is still
// the one that the change left; none where that has no prefix. force is that of
// the change.
func (c *Changes) Restore(by access.Caller, was, left Block, force bool) (made Block, p *call.Problem) {
	p = c.audited(by, Audit{Action: "restore", Target: was.Prefix.String()}, func(record *Audit) *call.Problem {
		b := edgeguard.Block{Prefix: was.Prefix, Rule: was.Rule, Reason: was.Reason, Count: was.Count, Limit: was.Limit,
			Since: was.Since, Until: was.Until, Proxied: was.Proxied, Batch: was.Batch}
		now, active := exact(c.view.reader.Find(c.view.reader.Now(), b.Prefix), b.Prefix)
		if active != left.Prefix.IsValid() || active && !isStill(now, left) {
			return call.NewProblem(http.StatusConflict, "prefix", b.Prefix.String()+" was changed since", "look at it, and change it as it is now")
		}
		made, p = c.put(b, force, record)
		return p
	})
	return made, p
}

// isStill reports whether a block is the one that a change left. Its end may have
// moved with a correction of the clock.
func isStill(b edgeguard.Block, left Block) bool {
	return b.Rule == left.Rule && NewBlock(b).Reason == left.Reason && b.Until.Sub(left.Until).Abs() < time.Second
}

// Extend moves the end of the active block of exactly a prefix, and returns it.
func (c *Changes) Extend(by access.Caller, prefix string, request ExtendRequest) (extended Block, p *call.Problem) {
	p = c.audited(by, Audit{Action: "extend", Target: call.Clip(prefix)}, func(record *Audit) *call.Problem {
		b, p := c.planExtension(prefix, &request)
		if p != nil {
			return p
		}
		extended, p = c.put(b, request.Force, record)
		return p
	})
	return extended, p
}

func (c *Changes) planExtension(prefix string, request *ExtendRequest) (b edgeguard.Block, p *call.Problem) {
	if b, p = c.view.Standing(prefix); p != nil {
		return b, p
	}
	if b.Until, p = call.Until(c.view.reader.Now(), request.For, request.Until, 0); p != nil {
		return b, p
	}
	b.Rule, b.Batch = edgeguard.ManualRule, 0 // or the rule's next crossing would undo it, or the end of an import
	if request.Reason != "" {
		b.Reason = request.Reason
	}
	return b, call.CheckReason(request.Reason)
}

// Unblock takes back the block of exactly a prefix, in force or held, and returns
// what was lifted.
func (c *Changes) Unblock(by access.Caller, prefix, reason string) (lifted Block, p *call.Problem) {
	p = c.audited(by, Audit{Action: "unblock", Target: call.Clip(prefix)}, func(record *Audit) *call.Problem {
		if p := call.CheckReason(reason); p != nil {
			return p
		}
		b, p := c.view.Standing(prefix)
		if p != nil && !c.view.waits(b.Prefix) {
			return p
		}
		record.Detail = cmp.Or(reason, "lifted by hand")
		was, ok := c.operator.Unblock(b.Prefix, record.Detail)
		if !ok { // it ended, or another request lifted it, since it was looked up
			return call.NewProblem(http.StatusNotFound, "prefix", b.Prefix.String()+" is no longer blocked", "")
		}
		lifted = NewBlock(was)
		return nil
	})
	return lifted, p
}

// UnblockOwned takes back the block that an owner made on this node. Another block of
// the prefix stays, and is a problem with the status 409. No counts are cleared.
func (c *Changes) UnblockOwned(by access.Caller, prefix, owner, reason string) (lifted Block, p *call.Problem) {
	p = c.audited(by, Audit{Action: "unblock", Target: call.Clip(prefix)}, func(record *Audit) *call.Problem {
		record.Detail = cmp.Or(reason, "lifted by "+call.Clip(owner))
		b, p := c.view.Standing(prefix)
		if p = cmp.Or(p, call.CheckReason(reason)); p != nil {
			return p
		}
		was, ok := c.operator.UnblockOwned(b.Prefix, owner, record.Detail)
		if !ok {
			return notOwned(&b, owner)
		}
		lifted = NewBlock(was)
		return nil
	})
	return lifted, p
}

// put passes a block to the node, and describes it in the record.
func (c *Changes) put(b edgeguard.Block, force bool, record *Audit) (Block, *call.Problem) {
	record.Detail = detail(b, force)
	b, err := c.operator.Block(b, force)
	if p := refusedProblem(err); p != nil {
		return Block{}, p
	}
	return NewBlock(b), nil
}

// detail describes a block or an allowance for the audit.
func detail(b edgeguard.Block, force bool) string {
	parts := []string{lasts(b.Until)}
	if b.Reason != "" {
		parts = append(parts, "reason: "+b.Reason)
	}
	if force {
		parts = append(parts, "forced")
	}
	return strings.Join(parts, ", ")
}
