package rules

import (
	"net/netip"
	"time"

	"edgeguard"
)

// Meter is what is counted: match, key, window, and cost or the field whose different
// values are counted. Rules that agree on them share it.
//
// Its methods do not allocate, except for an expression over an odd path or host,
// and are safe for concurrent use.
type Meter struct {
	Kind   edgeguard.Kind // the one kind that it counts
	Window time.Duration
	Width  uint32 // seconds per slot: a sixtieth of the window
	V4, V6 uint8  // prefix lengths, in bits
	// Everybody says that its keys have no address: all are held under
	// [edgeguard.Everybody].
	Everybody bool
	// Attributes are the key's parts besides the address, in a fixed order.
	Attributes []Attribute
	// Distinct is what is counted the different values of, once each; 0 for events.
	Distinct Distinct
	// Fingerprint identifies the meter in memory, in snapshots and in Redis:
	// 16 hex digits of a hash over all that changes a count, and of nothing
	// else. It is the same on every node, and whatever order the author wrote
	// lists in.
	Fingerprint string
	Rules       []int // indexes in Set.Rules
	// Sends says that it counts only methods that send something, such as POST.
	Sends bool

	match   predicate
	when    *when // nil for none
	charges []charge
	cost    uint16
	paths   bool // whether match or charges look at the path
	fold    bool // whether they look at its forms
	// chargesPaths says that the charges look at the path.
	chargesPaths bool
}

// charge is a compiled [Charge].
type charge struct {
	match predicate
	page  *pageTerms // nil where it does not matter
	cost  uint16
}

// Match reports whether the event counts, and for how much; the cost says
// nothing if it does not.
func (m *Meter) Match(ev *edgeguard.Event) (cost uint16, ok bool) {
	if ev.Kind&m.Kind == 0 || !m.match.matchFields(ev) {
		return 0, false
	}
	cost, ok = m.matchTexts(ev)
	if ok && m.when != nil { // the dearest part, and so the last
		ok = m.when.match(ev)
	}
	return cost, ok
}

// matchTexts matches host and path, and returns the cost of an event that fits.
func (m *Meter) matchTexts(ev *edgeguard.Event) (cost uint16, ok bool) {
	if m.charges == nil && (!m.paths || m.match.path.matchAsIs(ev.Path)) {
		return m.cost, m.match.matchHost(ev.Host)
	}
	if !m.fold {
		if path, plain := plainPath(ev.Path); plain {
			return m.matchedCost(ev, form{path: path})
		}
	}
	return m.weighOdd(ev)
}

// weighOdd is weigh for a target whose path is compared in other forms than as it was sent.
// It is a function of its own, so that only such paths pay for the room.
//
//go:noinline
func (m *Meter) weighOdd(ev *edgeguard.Event) (cost uint16, ok bool) {
	var room [pathRoom]byte
	f := readForms(ev.Path, m.fold, room[:0])
	return m.weighAny(ev, f.formsOf(m))
}

// weighAny is weigh for a path in several forms, any of which may be what was served.
func (m *Meter) weighAny(ev *edgeguard.Event, all []form) (cost uint16, ok bool) {
	for _, f := range all {
		one, also := m.matchedCost(ev, f)
		cost, ok = max(cost, one), ok || also
	}
	return cost, ok
}

// matchedCost finishes the match and finds the cost.
func (m *Meter) matchedCost(ev *edgeguard.Event, f form) (cost uint16, ok bool) {
	if !m.match.matchTexts(ev.Host, f) {
		return 0, false
	}
	return m.charge(ev, f), true
}

// charge returns what an event that matches costs.
func (m *Meter) charge(ev *edgeguard.Event, f form) (cost uint16) {
	for i := range m.charges {
		if c := &m.charges[i]; c.match.matchFields(ev) && c.page.match(ev) && c.match.matchTexts(ev.Host, f) {
			return c.cost
		}
	}
	return m.cost
}

// AppendAttributes appends the attributes' values as shown to people, such as
// "host=example.org path=/x", and nothing for a key of the address alone. It
// is false if the event lacks one of them: then it is not counted.
//
// Values are distinguished by this text. What is not visible ASCII is shown as
// %XX, a long value as its beginning and a hash, and of a header's value,
// which may be a secret, little more than a hash.
func (m *Meter) AppendAttributes(ev *edgeguard.Event, buf []byte) ([]byte, bool) {
	start := len(buf)
	for i := range m.Attributes {
		if i > 0 {
			buf = append(buf, ' ')
		}
		var ok bool
		if buf, ok = m.Attributes[i].append(buf, ev, m.fold); !ok {
			return buf[:start], false
		}
	}
	return buf, true
}

// Key returns the key that an event from addr counts under, for what With said.
func (m *Meter) Key(addr netip.Addr, with string) edgeguard.Key {
	if m.Everybody {
		return edgeguard.Key{With: with}
	}
	bits := int(m.V6)
	if addr.Is4() {
		bits = int(m.V4)
	}
	prefix, _ := addr.Prefix(bits) // no error: Compile checked the bits, and sensors cut zones
	return edgeguard.Key{Prefix: prefix, With: with}
}

// CountsAddresses reports whether a key is an address or a network, and nothing else: what
// concerns a client as a whole looks at these.
func (m *Meter) CountsAddresses() bool { return len(m.Attributes) == 0 && !m.Everybody }

// Fields returns the fields that an event's source must supply for the meter to
// count it. Those that only charges look at are not among them.
func (m *Meter) Fields() edgeguard.Field {
	fields := m.match.need | m.Distinct.field() | m.whenFields()
	if m.match.target != 0 {
		fields |= edgeguard.FieldPath // who tells of paths tells of what is in their place
	}
	for _, a := range m.Attributes {
		fields |= a.Field
	}
	return fields
}

// whenFields returns those that the expression reads.
func (m *Meter) whenFields() edgeguard.Field {
	if m.when == nil {
		return 0
	}
	return m.when.fields
}

// SparesOutages reports whether what is counted goes by how the site answers, so that a site
// that fails would have its visitors counted: the match looks at the status, and not only
// the costs do.
func (m *Meter) SparesOutages() bool {
	return (m.match.need|m.whenFields())&edgeguard.FieldStatus != 0
}
