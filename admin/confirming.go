package admin

import (
	"fmt"
	"net/http"
	"net/netip"

	"edgeguard/admin/access"
	"edgeguard/admin/call"
)

// Confirm puts held records in force, and returns how many. One record of the audit is about
// all of them. After the first that
// cannot be, the others stay held.
func (c *Changes) Confirm(by access.Caller, request ConfirmRequest) (done Confirmed, p *call.Problem) {
	prefixes, p := c.meant(by, &request)
	if p != nil {
		return done, p
	}
	if len(prefixes) == 0 {
		return done, nil
	}
	record := Audit{Action: "confirm"}
	if len(prefixes) == 1 {
		record.Target = prefixes[0].String()
	}
	p = c.audited(by, record, func(record *Audit) *call.Problem {
		for i, prefix := range prefixes {
			if p := c.confirmOne(prefix, request.All); p != nil {
				p.Detail = fmt.Sprintf("%s; %d of %d were confirmed before it", p.Detail, done.Confirmed, len(prefixes))
				return p
			}
			done.Confirmed, record.Prefixes = i+1, prefixes[:i+1]
		}
		record.Detail = fmt.Sprintf("%d confirmed", done.Confirmed)
		return nil
	})
	return done, p
}

// meant returns the prefixes that a request is about.
func (c *Changes) meant(by access.Caller, request *ConfirmRequest) (prefixes []netip.Prefix, p *call.Problem) {
	refuse := func(target string, p *call.Problem) ([]netip.Prefix, *call.Problem) {
		return nil, c.audited(by, Audit{Action: "confirm", Target: target}, func(*Audit) *call.Problem { return p })
	}
	if request.All == (len(request.Prefixes) > 0) {
		return refuse("", call.NewProblem(http.StatusBadRequest, "prefixes", "exactly one of prefixes and all is required", "list prefixes, or set all"))
	}
	for _, text := range request.Prefixes {
		prefix, p := call.ParsePrefix("prefixes", text)
		if p != nil {
			return refuse(call.Clip(text), p)
		}
		prefixes = append(prefixes, prefix)
	}
	if request.All {
		for _, b := range c.view.reader.Held() {
			prefixes = append(prefixes, b.Prefix)
		}
	}
	return prefixes, nil
}

// confirmOne puts one in force. Where all are confirmed, one that has ended by
// then is not a problem.
func (c *Changes) confirmOne(prefix netip.Prefix, all bool) *call.Problem {
	_, ok, err := c.operator.Confirm(prefix)
	switch {
	case err == nil && (ok || all):
		return nil
	case !ok:
		return call.NewProblem(http.StatusNotFound, "prefixes", prefix.String()+" does not await confirmation", "`edgeguard blocks held` lists the blocks that do")
	}
	p := refusedProblem(err)
	p.Field = "prefixes"
	return p
}
