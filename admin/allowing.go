package admin

import (
	"cmp"
	"fmt"
	"net/http"
	"net/netip"

	"edgeguard"
	"edgeguard/admin/access"
	"edgeguard/admin/call"
)

// Allow puts an allowance in force and returns it.
func (c *Changes) Allow(by access.Caller, request AllowRequest) (made Allowance, p *call.Problem) {
	p = c.audited(by, Audit{Action: "allow", Target: call.Clip(request.Prefix)}, func(record *Audit) *call.Problem {
		b, p := c.planAllowance(&request)
		if p != nil {
			return p
		}
		record.Detail = detail(b, request.Force)
		b, err := c.operator.Allow(b, request.Force)
		if p := refusedProblem(err); p != nil {
			return p
		}
		made = NewAllowance(b)
		return nil
	})
	return made, p
}

// planAllowance makes an allowance of a request. One that would end sooner than
// the one in force is refused, as with blocks.
func (c *Changes) planAllowance(request *AllowRequest) (b edgeguard.Block, p *call.Problem) {
	now := c.view.reader.Now()
	b = edgeguard.Block{Rule: edgeguard.ManualRule, Reason: request.Reason, Since: now, Until: edgeguard.Forever}
	if b.Prefix, p = call.ParsePrefix("prefix", request.Prefix); p != nil {
		return b, p
	}
	if request.For != "" || !request.Until.IsZero() {
		if b.Until, p = call.Until(now, request.For, request.Until, 0); p != nil {
			return b, p
		}
	}
	if p := call.CheckReason(request.Reason); p != nil {
		return b, p
	}
	if old, ok := exact(c.view.allowancesAround(b.Prefix), b.Prefix); ok && old.Until.After(b.Until) {
		return b, call.NewProblem(http.StatusConflict, "prefix", fmt.Sprintf("%s is already allowed %s", b.Prefix, lasts(old.Until)), "remove that first")
	}
	return b, nil
}

// Disallow takes back the allowance of exactly a prefix that was made at run time,
// and returns it.
func (c *Changes) Disallow(by access.Caller, text, reason string) (lifted Allowance, p *call.Problem) {
	p = c.audited(by, Audit{Action: "disallow", Target: call.Clip(text)}, func(record *Audit) *call.Problem {
		if p := call.CheckReason(reason); p != nil {
			return p
		}
		prefix, p := call.ParsePrefix("prefix", text)
		if p != nil {
			return p
		}
		record.Detail = cmp.Or(reason, "removed by hand")
		b, ok := c.operator.Disallow(prefix, record.Detail)
		if !ok {
			return c.notAllowed(prefix)
		}
		lifted = NewAllowance(b)
		return nil
	})
	return lifted, p
}

// notAllowed says why there is no allowance of a prefix to take back: it is the
// config's, or one around it holds it.
func (c *Changes) notAllowed(prefix netip.Prefix) *call.Problem {
	for _, p := range c.view.reader.Allowlist() {
		if covers(p, prefix) {
			return call.NewProblem(http.StatusConflict, "prefix", fmt.Sprintf("%s is allowed by the config: allowlist %s", prefix, p), "edit the config and reload")
		}
	}
	if around := c.view.allowancesAround(prefix); len(around) > 0 {
		outer := around[len(around)-1].Prefix
		return call.NewProblem(http.StatusNotFound, "prefix", fmt.Sprintf("there is no allowance of exactly %s, but one of %s contains it", prefix, outer), "use "+outer.String())
	}
	return call.NewProblem(http.StatusNotFound, "prefix", prefix.String()+" is not allowed", "")
}
