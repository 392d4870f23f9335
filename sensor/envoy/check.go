package envoy

import (
	"net/netip"

	"edgeguard"
	"edgeguard/sensor/clientaddr"
	"edgeguard/sensor/refusal"
)

// check answers ext_authz.
func (a *asker) check(c *call) bool {
	if !c.check.Read(c.message) {
		return false
	}
	verdict := a.ofCheck(c)
	var answer CheckAnswer
	if verdict.Action == edgeguard.ActionDeny {
		refused := refusal.Of(&verdict, a.Policy)
		answer = CheckAnswer{Denied: true, Status: refusal.Status, Body: refused.Body}
		refused.Headers(func(name, value string) {
			answer.Headers = append(answer.Headers, CheckHeader{Name: name, Value: value})
		})
	}
	if verdict.Action != edgeguard.ActionPass {
		answer.Metadata = []CheckHeader{{Name: "action", Value: verdict.Action.String()}, {Name: "rule", Value: refusal.Visible(verdict.Rule)}}
	}
	c.out = answer.Append(c.out)
	return true
}

// ofCheck returns the verdict on a request.
func (a *asker) ofCheck(c *call) edgeguard.Verdict {
	if !c.trusted {
		a.NameStranger(&c.event, c.peer.addr, "an Envoy")
		return a.ask(&c.event, false)
	}
	hop, ok := clientaddr.ParseAddr(c.check.Source)
	if !ok {
		return a.noClient("Envoy asks about a request that has no source address: it came over a unix socket, or the address cannot be read")
	}
	if !a.place(&c.event, c.peer, hop, c.values(a.Finder.Header())) {
		return a.noHeader(hop, "set use_remote_address: true in Envoy")
	}
	c.describe()
	return a.ask(&c.event, false)
}

// noHeader passes a request that a trusted proxy sent to Envoy, and of which Envoy does not
// say for whom.
func (a *asker) noHeader(hop netip.Addr, fix string) edgeguard.Verdict {
	return a.noClient("Envoy asks about a request of the trusted proxy " + hop.String() + " without a good " + a.Finder.Header() +
		": " + fix + ", or take the proxy out of trust")
}

// values returns the last lines of a header: the first of more are as good as absent.
func (c *call) values(name string) []string {
	all := c.check.AppendLines(c.lines[:0], name)
	return all[max(0, len(all)-clientaddr.MaxHops):]
}

// describe fills in what Envoy says of the request.
func (c *call) describe() {
	e := &c.event
	e.Method, e.Path, e.Host = c.check.Method, c.check.Path, c.check.Host
	e.Known |= edgeguard.FieldMethod | edgeguard.FieldPath | edgeguard.FieldHost | edgeguard.FieldAgent | edgeguard.FieldHeader
	e.Agent, _ = c.check.Header("user-agent")
	// One that is missing is not known: Envoy may not send it (allowed_headers).
	c.take(&e.Referer, edgeguard.FieldReferer, "referer")
	c.take(&e.FetchSite, edgeguard.FieldFetchSite, "sec-fetch-site")
	e.Header = c.ofCheck
}

func (c *call) take(field *string, known edgeguard.Field, name string) {
	if value, ok := c.check.Header(name); ok {
		*field = value
		c.event.Known |= known
	}
}

// checkTooLong refuses with 431, as a server does whose clients send too much.
func (c *call) checkTooLong() {
	answer := CheckAnswer{Denied: true, Status: 431}
	c.out = answer.Append(c.out)
}
