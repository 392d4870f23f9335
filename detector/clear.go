package detector

import (
	"net/netip"
	"slices"
	"time"

	"edgeguard/shard"
)

// Clear forgets what was counted of the addresses in prefixes, their steps of rules
// that escalate, and which of their crossings were reported. Without it an unblock
// would not last.
// A key that is wider than a prefix is forgotten too, since the block was the
// key's, and so are the wide networks around it, which would block it again
// at its next request. It returns how many counts it forgot. A table that has to be searched for
// one prefix is searched once for all.
func (d *Detector) Clear(now time.Time, prefixes ...netip.Prefix) (forgotten int) {
	set := newPrefixSet(prefixes)
	d.steps.clear(set)
	d.crossings.clear(set)
	for _, t := range d.Tables() {
		if t.Meter.Everybody {
			continue // an unblock is of addresses
		}
		forgotten += t.clear(set, seconds(now)/t.Meter.Width)
	}
	for t := range d.asideTables {
		if t.Meter.Everybody {
			continue
		}
		t.clear(set, seconds(now)/t.Meter.Width)
	}
	d.steps.clear(set) // again: an event may have come between
	d.crossings.clear(set)
	return forgotten
}

// clear forgets the keys of the table that overlap prefixes.
func (t *Table) clear(set prefixSet, slot uint32) (forgotten int) {
	var rest prefixSet // that a look at one key is not enough for
	for _, prefix := range set {
		switch {
		case t.Wide > 0 && prefix.Addr().Is4():
		case len(t.Meter.Attributes) == 0 && inside(prefix, t.key(prefix.Addr())):
			if _, ok := t.SlotsOf(prefix.Addr(), "", slot); ok {
				forgotten++
			}
			t.Clear(prefix.Addr(), "")
		default:
			rest = append(rest, prefix)
		}
	}
	if len(rest) == 0 {
		return forgotten
	}
	t.EachEntry(slot, func(e shard.Entry) bool {
		if rest.overlaps(e.Key.Prefix) {
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

// prefixSet is prefixes in order, none inside another.
type prefixSet []netip.Prefix

func newPrefixSet(prefixes []netip.Prefix) (set prefixSet) {
	all := slices.Clone(prefixes)
	for i := range all {
		all[i] = all[i].Masked()
	}
	slices.SortFunc(all, netip.Prefix.Compare)
	for _, p := range all {
		if n := len(set); n == 0 || !inside(p, set[n-1]) {
			set = append(set, p)
		}
	}
	return set
}

// contains reports whether p is one of them or lies inside one.
func (s prefixSet) contains(p netip.Prefix) bool {
	i, found := slices.BinarySearchFunc(s, p, netip.Prefix.Compare)
	return found || i > 0 && inside(p, s[i-1])
}

// overlaps reports whether p contains one of them, or they contain it.
func (s prefixSet) overlaps(p netip.Prefix) bool {
	i, _ := slices.BinarySearchFunc(s, p, netip.Prefix.Compare)
	return i < len(s) && inside(s[i], p) || s.contains(p)
}
