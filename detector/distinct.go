package detector

import (
	"fmt"
	"net/netip"
	"strings"

	"edgeguard"
	"edgeguard/internal/unsafetext"
	"edgeguard/rules"
	"edgeguard/shard"
)

// valueRoom is the stack that a value takes which is not in the form in which it is counted.
const valueRoom = 2048

// shown is what an event last showed to a meter of different values: nearly all meters of one
// field have one seed, and to hash a text takes as long as to count it.
type shown struct {
	field       rules.Distinct
	seed, value uint64
}

// setShownValue sets the value that the event shows to a meter of different values; last is what it
// showed before. It reports false if the event lacks the field: then it is not counted.
func (m *meter) setShownValue(op *shard.Op, event *edgeguard.Event, last *shown) bool {
	if m.Distinct == rules.DistinctPort {
		op.Value = uint64(event.Port)*rules.MostMarks + 1            // it takes as many numbers as it costs
		return event.Known&edgeguard.FieldPort != 0 && !event.Answer // the port of an answer is a client's
	}
	if m.Distinct == rules.DistinctAddress && event.Verified&m.Kind == 0 {
		return false // forged ones would be as many as somebody likes
	}
	if last.field == m.Distinct && last.seed == m.seed {
		op.Value = last.value
		return true
	}
	if m.Distinct == rules.DistinctAddress {
		op.Value = addressValue(m.seed, event.Addr)
		*last = shown{m.Distinct, m.seed, op.Value}
		return true
	}
	text, ok := m.AsSent(event)
	if !ok {
		return m.showOdd(op, event)
	}
	op.Value = shard.Value(m.seed, text)
	*last = shown{m.Distinct, m.seed, op.Value}
	return true
}

// widestClient is the prefix length of an IPv6 address that counts as one: whoever has a /48 has 65,536 /64s.
const widestClient = 48

// addressValue returns what stands for an IPv4 address or an IPv6 /48.
func addressValue(seed uint64, addr netip.Addr) uint64 {
	b := addr.As16()
	if !addr.Is4() {
		clear(b[widestClient/8:])
	}
	return shard.Value(seed, unsafetext.String(b[:]))
}

// showOdd sets the value of an event whose text must be made first. The buffer for it is
// in this function, so that other events do not pay for it.
//
//go:noinline
func (m *meter) showOdd(op *shard.Op, event *edgeguard.Event) bool {
	var room [valueRoom]byte
	text, known := m.Value(event, room[:0])
	op.Value = shard.Value(m.seed, text)
	return known
}

// costOfRepeat is what one more event adds to the count that is like one of this cost: nothing if
// its value was just counted.
func (m *meter) costOfRepeat(cost uint32, justNow bool) uint32 {
	if m.Distinct != 0 && justNow {
		return 0
	}
	return cost
}

// reason says why a key is blocked.
func (m *meter) reason(n count, r *rules.Rule) string {
	if m.Distinct == 0 {
		return n.reason(m.MeasureOf())
	}
	window := strings.TrimSuffix(strings.Replace(m.Window.String(), "h0m0s", "h", 1), "0s")
	return fmt.Sprintf("%s in %s, limit %s (threshold %d%s)", m.MeasureOf().Of(n.count), window, m.MeasureOf().Amount(r.Limit), r.Threshold, m.MeasureOf().Note())
}
