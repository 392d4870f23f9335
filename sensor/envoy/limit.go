package envoy

import (
	"math"
	"strings"

	"edgeguard"
	"edgeguard/sensor/clientaddr"
	"edgeguard/sensor/refusal"
)

// The keys of entries with a meaning. Any other is a header of the request.
const (
	keyAddress = "remote_address"
	keyRule    = "edgeguard_rule"
	keyHost    = "host"
	keyMethod  = "method"
	keyPath    = "path"
	keyAgent   = "user_agent"
)

// mostHits bounds what a call adds: it is the room of a slot of a window.
const mostHits = math.MaxUint16

// limit answers the rate limit service.
func (a *asker) limit(c *call) bool {
	if !c.limit.Read(c.message) {
		return false
	}
	verdict := a.ofLimit(c)
	answer := LimitAnswer{Over: verdict.Action == edgeguard.ActionDeny}
	answer.Statuses = a.statuses(c, &verdict)
	if answer.Over {
		refused := refusal.Of(&verdict, a.Policy)
		answer.Body = refused.Body
		refused.Headers(func(name, value string) {
			answer.Headers = append(answer.Headers, Entry{Key: strings.ToLower(name), Value: value})
		})
	}
	c.out = answer.Append(c.out)
	return true
}

// ofLimit returns the verdict on the request that the descriptors describe: one event,
// however many they are.
func (a *asker) ofLimit(c *call) edgeguard.Verdict {
	if !c.trusted {
		a.NameStranger(&c.event, c.peer.addr, "an Envoy")
		return a.ask(&c.event, false)
	}
	hits := c.hits()
	named, ok := find(c.limit.Entries, keyAddress)
	if !ok {
		return a.noClient("Envoy asks for a limit without a descriptor " + keyAddress)
	}
	hop, ok := clientaddr.ParseAddr(named)
	if !ok {
		return a.noClient("Envoy asks for a limit with a " + keyAddress + " that is not an address")
	}
	var lines []string
	if line, ok := c.entry(a.Finder.Header()); ok {
		lines = append(c.lines[:0], line)
	}
	if !a.place(&c.event, c.peer, hop, lines) {
		return a.noHeader(hop, "have the descriptor of "+keyAddress+" carry that header, too, as edgeguard snippets envoy-rls does")
	}
	c.describeByEntries()
	c.event.Hits = hits
	return a.ask(&c.event, hits == 0)
}

// hits returns how much the call adds: the most that one of its descriptors does, which are
// all of the same request. Nothing can be given back.
func (c *call) hits() uint16 {
	all := c.limit.Hits
	if all == 0 {
		all = 1
	}
	var most uint64
	for _, d := range c.limit.Descriptors {
		switch {
		case d.Returns:
		case d.Counts:
			most = max(most, d.Hits)
		default:
			most = max(most, all)
		}
	}
	return uint16(min(most, mostHits))
}

// find returns the first value of a key.
func find(entries []Entry, key string) (string, bool) {
	for i := range entries {
		if entries[i].Key == key {
			return entries[i].Value, true
		}
	}
	return "", false
}

// entry returns the first value of a key that is a header's name.
func (c *call) entry(name string) (string, bool) {
	for i := range c.limit.Entries {
		if strings.EqualFold(c.limit.Entries[i].Key, name) {
			return c.limit.Entries[i].Value, true
		}
	}
	return "", false
}

// describeByEntries fills in what the descriptors say of the request. What they do not say is
// not known.
func (c *call) describeByEntries() {
	e := &c.event
	for _, entry := range c.limit.Entries {
		switch entry.Key {
		case keyAddress, keyRule:
		case keyHost:
			c.known(&e.Host, edgeguard.FieldHost, entry.Value)
		case keyMethod:
			c.known(&e.Method, edgeguard.FieldMethod, entry.Value)
		case keyPath:
			c.known(&e.Path, edgeguard.FieldPath, entry.Value)
		case keyAgent:
			c.known(&e.Agent, edgeguard.FieldAgent, entry.Value)
		default:
			e.Header = c.ofLimit
			e.Known |= edgeguard.FieldHeader
		}
	}
}

// known sets a field that no entry has set before.
func (c *call) known(field *string, name edgeguard.Field, value string) {
	if c.event.Known&name == 0 {
		*field = value
		c.event.Known |= name
	}
}

// statuses returns what became of each descriptor.
func (a *asker) statuses(c *call, verdict *edgeguard.Verdict) []LimitStatus {
	all := make([]LimitStatus, len(c.limit.Descriptors))
	denied := verdict.Action == edgeguard.ActionDeny
	said := false // that it is over
	for i, d := range c.limit.Descriptors {
		entries := c.limit.Of(d)
		rule, named := find(entries, keyRule)
		_, addressed := find(entries, keyAddress)
		switch {
		case denied && (named && rule == verdict.Rule || !named && addressed):
			all[i], said = a.over(verdict), true
		case !denied && named && verdict.Reason == "":
			all[i] = a.within(c, rule)
		}
	}
	for i := range all { // the rule that refuses is none of those that were asked for
		if denied && !said {
			all[i] = a.over(verdict)
		}
	}
	return all
}

// over is the status of a descriptor whose request a rule refuses.
func (a *asker) over(verdict *edgeguard.Verdict) LimitStatus {
	status := LimitStatus{Over: true, Reset: verdict.RetryAfter}
	if p, ok := a.Policy(verdict.Rule); ok {
		status.Limit = &Limit{Rule: refusal.Visible(verdict.Rule), Events: p.Quota, Window: p.Window}
	}
	return status
}

// within is the status of a descriptor that names a rule, whose limit is not reached. The
// request itself leaves the window at its end, and then all of the limit is there again.
func (a *asker) within(c *call, rule string) LimitStatus {
	n, ok := a.config.Count(c.event.Time, &c.event, rule)
	if !ok {
		return LimitStatus{}
	}
	return LimitStatus{
		Limit: &Limit{Rule: refusal.Visible(rule), Events: n.Limit, Window: n.Window},
		Left:  n.Limit - min(n.Limit, n.Count), Reset: n.Window,
	}
}

// limitTooLong refuses the request, and says of every descriptor nothing.
func (c *call) limitTooLong() {
	answer := LimitAnswer{Over: true}
	c.out = answer.Append(c.out)
}
