package rules

import (
	"fmt"
	"slices"

	"edgeguard"
	"edgeguard/internal/unsafetext"
)

// MaxDistinct is the greatest limit of a rule that counts different values: beyond it
// such a count is too low.
const MaxDistinct = 400

// distinctFields are the fields whose values can be counted.
const distinctFields = edgeguard.FieldPath | edgeguard.FieldPort | edgeguard.FieldHost | edgeguard.FieldAgent

// distinct compiles what is counted in place of events. It requires the meter's kind and
// attributes.
func (c *compiler) distinct(m *Meter, spec *Spec) (canonical string) {
	const path = "count.distinct"
	if spec.Distinct == "" {
		return ""
	}
	field, known := edgeguard.ParseField(spec.Distinct)
	if !known || field&distinctFields == 0 {
		c.problem(path, flaw{fmt.Sprintf("invalid field %.40q", spec.Distinct), "use path, port, host or agent"})
		return ""
	}
	m.Distinct = field
	if spec.Cost != 0 || spec.Costs != nil {
		c.problem("cost", flaw{"a rule that counts different values has no cost", "remove cost, or count"})
	}
	if slices.Contains(m.Attributes, Attribute{Field: field}) {
		c.problem(path, flaw{fmt.Sprintf("%v is part of the key, so each key has only one", field), "remove it from key.with"})
	}
	if field == edgeguard.FieldPort && m.Kind == edgeguard.KindICMP {
		c.problem(path, flaw{"icmp messages have no port", "set match: {kind: packet}, or another kind"})
	}
	return "distinct=" + field.String()
}

// AsSent returns the text that the meter counts of the event, if it is in the form in which
// it is counted already, as nearly all are; see Value.
func (m *Meter) AsSent(ev *edgeguard.Event) (text string, ok bool) {
	switch m.Distinct & ev.Known {
	case edgeguard.FieldPath:
		return plainPath(ev.Path)
	case edgeguard.FieldHost:
		return ev.Host, plainHost(ev.Host)
	case edgeguard.FieldAgent:
		return ev.Agent, true
	}
	return "", false
}

// Value returns the text that the meter counts of the event: the path in normal form, the
// host in lower case and without its port, or the agent as sent. It may lie in buf. known is
// false if the event lacks the field: then it is not counted. A meter of ports has no text.
func (m *Meter) Value(ev *edgeguard.Event, buf []byte) (text string, known bool) {
	switch m.Distinct & ev.Known {
	case edgeguard.FieldPath:
		return unsafetext.String(normalPath(buf, ev.Path)), true
	case edgeguard.FieldHost:
		return unsafetext.String(normalHost(buf, ev.Host)), true
	case edgeguard.FieldAgent:
		return ev.Agent, true
	}
	return "", false
}

// Counts returns what the meter counts in words, for n of it: "events", or "different
// paths".
func (m *Meter) Counts(n uint32) string {
	many := "s"
	if n == 1 {
		many = ""
	}
	if m.Distinct == 0 {
		return "event" + many
	}
	return "different " + m.Distinct.String() + many
}

// Asks reports whether the set counts what packets asked for, so that the answers must be
// known: see [edgeguard.Event.Answer].
func (s *Set) Asks() bool {
	return slices.ContainsFunc(s.Meters, func(m Meter) bool { return m.Distinct == edgeguard.FieldPort })
}

// mostLimit returns the greatest limit that is exact.
func (s *Spec) mostLimit() uint32 {
	if s.Distinct != "" {
		return MaxDistinct
	}
	return edgeguard.MaxLimit
}
