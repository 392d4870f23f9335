package detector

import (
	"net/netip"
	"time"

	"edgeguard/shard"
)

// Clear forgets what was counted of the addresses in prefix, how far they have
// come on the steps of rules that escalate, and which of their crossings were
// told: what makes an unblock stick.
// A key that is wider than prefix is forgotten too, since the block was the
// key's. It returns how many counts it forgot.
func (d *Detector) Clear(now time.Time, prefix netip.Prefix) (forgotten int) {
	prefix = prefix.Masked()
	d.steps.clear(prefix)
	d.crossings.clear(prefix)
	for i := range d.meters {
		m := &d.meters[i]
		slot := m.slot(seconds(now))
		forgotten += m.clear(m.proven, prefix, slot) + m.clear(m.forgeable, prefix, slot)
	}
	d.steps.clear(prefix) // again: an event may have come between
	d.crossings.clear(prefix)
	return forgotten
}

// clear forgets the keys of one table that overlap prefix.
func (m *meter) clear(table *shard.Table, prefix netip.Prefix, slot uint32) (forgotten int) {
	if key := m.Key(prefix.Addr(), "").Prefix; len(m.Attributes) == 0 && inside(prefix, key) {
		if _, ok := table.Ring(prefix.Addr(), "", slot); ok {
			forgotten = 1
		}
		table.Clear(prefix.Addr(), "")
		return forgotten
	}
	table.Each(slot, func(e shard.Entry) bool {
		if inside(e.Key.Prefix, prefix) || inside(prefix, e.Key.Prefix) {
			table.ClearEntry(e)
			forgotten++
		}
		return true
	})
	return forgotten
}
