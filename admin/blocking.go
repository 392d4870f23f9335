package admin

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"edgeguard"
	"edgeguard/admin/access"
	"edgeguard/admin/call"
	"edgeguard/blocklist"
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
	if old, ok := exact(c.view.reader.Find(now, prefix), prefix); ok && old.Until.After(until) {
		return edgeguard.Block{}, call.NewProblem(http.StatusConflict, "prefix", fmt.Sprintf("%s is already blocked by rule %s until %s", prefix, old.Rule, old.Until.UTC().Format(time.RFC3339)), "PATCH it to change its end")
	}
	return edgeguard.Block{Prefix: prefix, Rule: edgeguard.ManualRule, Reason: request.Reason, Since: now, Until: until}, nil
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
	if b, p = c.view.standing(prefix); p != nil {
		return b, p
	}
	if b.Until, p = call.Until(c.view.reader.Now(), request.For, request.Until, 0); p != nil {
		return b, p
	}
	b.Rule = edgeguard.ManualRule // or the rule's next crossing would undo it
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
		b, p := c.view.standing(prefix)
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

// put passes a block to the node, and describes it in the record.
func (c *Changes) put(b edgeguard.Block, force bool, record *Audit) (Block, *call.Problem) {
	record.Detail = detail(b, force)
	b, err := c.operator.Block(b, force)
	if p := refused(err); p != nil {
		return Block{}, p
	}
	return NewBlock(b), nil
}

// refused makes a problem of the node's error; nil if there is none.
func refused(err error) *call.Problem {
	var tooMuch *TooMuchError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &tooMuch):
		return call.NewProblem(http.StatusConflict, "prefix", err.Error(), "use force if this is intended")
	case errors.Is(err, blocklist.ErrFull):
		return call.NewProblem(http.StatusConflict, "prefix", err.Error(), "remove some blocks, or raise max_blocks in the config and reload")
	case errors.Is(err, blocklist.ErrTooWide):
		return call.NewProblem(http.StatusUnprocessableEntity, "prefix", err.Error(), "use narrower prefixes, or force")
	case errors.Is(err, blocklist.ErrProtected):
		return call.NewProblem(http.StatusUnprocessableEntity, "prefix", err.Error(), "use force if this is intended")
	case errors.Is(err, blocklist.ErrAllowed):
		return call.NewProblem(http.StatusUnprocessableEntity, "prefix", err.Error(), "remove it from the allowlist first, in the config or with `edgeguard allow remove`")
	case errors.Is(err, blocklist.ErrInvalid), errors.Is(err, blocklist.ErrUnspecified):
		return call.NewProblem(http.StatusBadRequest, "prefix", err.Error(), "")
	case errors.Is(err, blocklist.ErrExpired):
		return call.NewProblem(http.StatusBadRequest, "until", err.Error(), "use a later end")
	}
	return call.NewProblem(http.StatusInternalServerError, "", err.Error(), "")
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
