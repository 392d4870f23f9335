package detector

import (
	"net/netip"
	"time"

	"edgeguard/shard"
)

// Clear forgets what was counted of the addresses in prefix, their steps of rules
// that escalate, and which of their crossings were reported. Without it an unblock
// would not last.
// A key that is wider than prefix is forgotten too, since the block was the
// key's, and so are the wide networks around prefix, which would block it again
// at its next request. It returns how many counts it forgot.
func (d *Detector) Clear(now time.Time, prefix netip.Prefix) (forgotten int) {
	prefix = prefix.Masked()
	d.steps.clear(prefix)
	d.crossings.clear(prefix)
	for _, t := range d.Tables() {
		forgotten += t.clear(prefix, seconds(now)/t.Meter.Width)
	}
	for t := range d.asideTables {
		t.clear(prefix, seconds(now)/t.Meter.Width)
	}
	d.steps.clear(prefix) // again: an event may have come between
	d.crossings.clear(prefix)
	return forgotten
}

// clear forgets the keys of the table that overlap prefix.
func (t *Table) clear(prefix netip.Prefix, slot uint32) (forgotten int) {
	if t.Wide > 0 && prefix.Addr().Is4() {
		return 0
	}
	if len(t.Meter.Attributes) == 0 && inside(prefix, t.key(prefix.Addr())) {
		if _, ok := t.SlotsOf(prefix.Addr(), "", slot); ok {
			forgotten = 1
		}
		t.Clear(prefix.Addr(), "")
		return forgotten
	}
	t.EachEntry(slot, func(e shard.Entry) bool {
		if inside(e.Key.Prefix, prefix) || inside(prefix, e.Key.Prefix) {
			t.ClearEntry(e)
			forgotten++
		}
		return true
	})
	return forgotten
}

// key returns the prefix that the table counts addr under.
func (t *Table) key(addr netip.Addr) netip.Prefix {
	if t.Wide == 0 {
		return t.Meter.Key(addr, "").Prefix
	}
	prefix, _ := addr.Prefix(int(t.Wide)) // no error: addr is IPv6
	return prefix
}
