package rules

import (
	"fmt"
	"slices"
	"strings"

	"edgeguard"
	"edgeguard/internal/unsafetext"
	"edgeguard/internal/words"
)

// MaxDistinct is the greatest limit of a rule that counts different values: beyond it
// such a count is too low.
const MaxDistinct = 400

// MostMarks is the greatest cost of a different value: each unit takes the memory of one.
const MostMarks = leniency

// Distinct is what a meter counts the different values of; 0 for events.
type Distinct uint8

// What can be counted.
const (
	DistinctPath Distinct = 1 + iota
	DistinctPort
	DistinctHost
	DistinctAgent
	DistinctParameter // a path with the parameter of its query for which the expression holds
	DistinctAddress   // an IPv4 address or an IPv6 /48, of evidence that cannot be forged
)

var distinctNames = []string{"", "path", "port", "host", "agent", "parameter", "address"}

// String returns the name as in the config; empty for events.
func (d Distinct) String() string { return distinctNames[d] }

// Distincts returns the names of what can be counted.
func Distincts() []string { return distinctNames[1:] }

// field returns the event's field with the value.
func (d Distinct) field() edgeguard.Field {
	switch d {
	case DistinctPath, DistinctParameter:
		return edgeguard.FieldPath
	case DistinctPort:
		return edgeguard.FieldPort
	case DistinctHost:
		return edgeguard.FieldHost
	case DistinctAgent:
		return edgeguard.FieldAgent
	}
	return 0
}

// distinct compiles what is counted in place of events. It requires the meter's kind and
// attributes.
func (c *compiler) distinct(m *Meter, spec *Spec) (canonical string) {
	const path = "count.distinct"
	if spec.Distinct == "" {
		return ""
	}
	at := slices.Index(distinctNames, spec.Distinct)
	if at < 0 {
		c.problem(path, flaw{fmt.Sprintf("invalid field %.40q", spec.Distinct), "use " + strings.Join(Distincts(), ", ")})
		return ""
	}
	m.Distinct = Distinct(at)
	if m.Distinct == DistinctParameter && (m.when == nil || m.when.each == nil) {
		c.problem(path, flaw{"the rule does not say which parameters", `name parameter in when, as in parameter contains "../"`})
	}
	most := uint16(MostMarks)
	if m.Distinct == DistinctAddress {
		most = 1
		c.checkAddresses(m)
	}
	for i := range m.charges {
		c.checkMarks(itemPath("cost", i)+".cost", m.charges[i].cost, most)
	}
	c.checkMarks("cost", m.cost, most)
	if slices.ContainsFunc(m.Attributes, func(a Attribute) bool { return a.String() == spec.Distinct }) {
		c.problem(path, flaw{fmt.Sprintf("%v is part of the key, so each key has only one", m.Distinct), "remove it from key.with"})
	}
	if m.Distinct == DistinctPort && m.Kind == edgeguard.KindICMP {
		c.problem(path, flaw{"icmp messages have no port", "set match: {kind: packet}, or another kind"})
	}
	return "distinct=" + m.Distinct.String()
}

// checkAddresses refuses different addresses where there are none.
func (c *compiler) checkAddresses(m *Meter) {
	if !m.Everybody {
		c.problem("count.distinct", flaw{"the address is part of the key, so each key has only one", "set key: {address: none}, with what they have in common"})
	}
	if m.Kind&edgeguard.Verifiable == 0 {
		c.problem("count.distinct", flaw{fmt.Sprintf("a stranger forges as many addresses of %vs as he likes", events[m.Kind]), "count requests, responses, handshakes or failed logins"})
	}
}

// checkMarks refuses a cost that a different value cannot have.
func (c *compiler) checkMarks(path string, cost, most uint16) {
	if cost <= most {
		return
	}
	fix := fmt.Sprintf("use 1 to %d", most)
	if most == 1 {
		fix = "remove it: an address counts as one"
	}
	c.problem(path, flaw{fmt.Sprintf("a different value cannot cost %d", cost), fix})
}

// TopCount returns a count as it is told: that of addresses is too low above [MaxDistinct], where one more
// stands for all.
func (m *Meter) TopCount(count uint32) uint32 {
	if m.Distinct == DistinctAddress {
		return min(count, MaxDistinct+1)
	}
	return count
}

// AsSent returns the text that the meter counts of the event, if it is in the form in which
// it is counted already, as nearly all are; see Value.
func (m *Meter) AsSent(ev *edgeguard.Event) (text string, ok bool) {
	if m.Distinct.field()&ev.Known == 0 {
		return "", false
	}
	switch m.Distinct {
	case DistinctPath:
		return plainPath(ev.Path)
	case DistinctHost:
		return ev.Host, plainHost(ev.Host)
	case DistinctAgent:
		return ev.Agent, true
	}
	return "", false
}

// Value returns the text that the meter counts of the event: the path in normal form, the
// host in lower case and without its port, the agent as sent, or the path with the first
// parameter of the query for which the expression holds, decoded. It may lie in buf. known is
// false if the event lacks the field: then it is not counted. A meter of ports has no text.
func (m *Meter) Value(ev *edgeguard.Event, buf []byte) (text string, known bool) {
	if m.Distinct.field()&ev.Known == 0 {
		return "", false
	}
	switch m.Distinct {
	case DistinctPath:
		return unsafetext.String(normalPath(buf, ev.Path)), true
	case DistinctHost:
		return unsafetext.String(normalHost(buf, ev.Host)), true
	case DistinctAgent:
		return ev.Agent, true
	case DistinctParameter:
		part, holds := m.when.first(m.when.subject(ev))
		return unsafetext.String(appendDecoded(append(normalPath(buf, ev.Path), '?'), part)), holds
	}
	return "", false
}

// MeasureOf returns what its counts are of: "requests", "attempts" where it counts only what is sent
// to certain paths, "failed logins", "different paths". What an ordinary event, or value, costs is
// then one, and some may be a part of one. Where some cost more, or several less, these are weights.
func (m *Meter) MeasureOf() words.Measure {
	lesser := m.cost
	for i := range m.charges {
		switch cost := m.charges[i].cost; {
		case cost == m.cost || cost == lesser:
		case cost > m.cost || lesser < m.cost:
			return words.Weighed()
		default:
			lesser = cost
		}
	}
	u := words.Measure{Each: uint32(m.cost), One: events[m.Kind]}
	switch {
	case m.Distinct != 0:
		u.One, u.Exact = "different "+m.Distinct.String(), MaxDistinct
	case m.Sends && m.match.need&edgeguard.FieldPath != 0:
		u.One = "attempt"
	}
	if u.Many = u.One + "s"; m.Distinct == DistinctAddress {
		u.Many = u.One + "es"
	}
	return u
}

// MeasureOf returns what the figures of the rule of this name are of; the zero one where there is none.
func (s *Set) MeasureOf(rule string) words.Measure {
	i := slices.IndexFunc(s.Rules, func(r Rule) bool { return r.Name == rule })
	if i < 0 {
		return words.Measure{}
	}
	return s.Meters[s.Rules[i].Meter].MeasureOf()
}

// Events returns what the events are called that the meter looks at, in the plural. An
// answer is called as the request that it is to.
func (m *Meter) Events() string { return events[m.Kind] + "s" }

var events = map[edgeguard.Kind]string{
	edgeguard.KindRequest: "request", edgeguard.KindResponse: "request", edgeguard.KindPacket: "packet", edgeguard.KindSYN: "SYN packet",
	edgeguard.KindHandshake: "handshake", edgeguard.KindUDP: "UDP packet", edgeguard.KindICMP: "ICMP packet",
	edgeguard.KindAuthFailure: "failed login", edgeguard.KindRejection: "rejection",
}

// NeedsAnswers reports whether the set counts what packets asked for, so that the answers must be
// known: see [edgeguard.Event.Answer].
func (s *Set) NeedsAnswers() bool {
	return slices.ContainsFunc(s.Meters, func(m Meter) bool { return m.Distinct == DistinctPort })
}

// mostLimit returns the greatest limit that is exact.
func (s *Spec) mostLimit() uint32 {
	if s.Distinct != "" {
		return MaxDistinct
	}
	return edgeguard.MaxLimit
}
