package enforce

import (
	"iter"
	"net/netip"
	"slices"
	"time"

	"edgeguard"
)

// list is a whole list as an enforcer expects it.
type list struct {
	entries  []Entry
	withheld int       // left out, because the kernel would see the proxy
	next     time.Time // the earliest Until, zero for an empty list
}

// collect makes the list of what is live at now. size is a guess of its
// length.
func collect(now time.Time, blocks iter.Seq[edgeguard.Block], kernel bool, size int) list {
	l := list{entries: make([]Entry, 0, size)}
	for b := range blocks {
		e, ok := entryOf(b)
		switch {
		case !ok || b.Lifted || !now.Before(e.Until):
			continue
		case kernel && b.Proxied:
			l.withheld++
			continue
		}
		l.entries = append(l.entries, e)
	}
	if !slices.IsSortedFunc(l.entries, comparePrefix) {
		slices.SortFunc(l.entries, comparePrefix)
	}
	l.entries = unique(l.entries)
	for i, e := range l.entries {
		if i == 0 || e.Until.Before(l.next) {
			l.next = e.Until
		}
	}
	return l
}

// entryOf makes an entry of a block, with its prefix masked and unmapped; ok
// is false for a prefix that no enforcer can hold.
func entryOf(b edgeguard.Block) (_ Entry, ok bool) {
	p, ok := canonical(b.Prefix)
	return Entry{Prefix: p, Until: b.Until}, ok
}

// canonical masks and unmaps. A prefix of length 0 is every address: no blocklist
// lets it in, and ipset cannot hold it.
func canonical(p netip.Prefix) (_ netip.Prefix, ok bool) {
	if p.Addr().Is4In6() {
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p.Masked(), p.IsValid() && p.Bits() > 0
}

// comparePrefix puts IPv4 first, then by address, then the wider first: a
// prefix comes before all that lies inside it.
func comparePrefix(a, b Entry) int {
	if c := a.Prefix.Addr().Compare(b.Prefix.Addr()); c != 0 {
		return c
	}
	return a.Prefix.Bits() - b.Prefix.Bits()
}

// unique keeps of neighbours with one prefix a single entry, which ends with
// the last of them.
func unique(sorted []Entry) []Entry {
	kept := sorted[:0]
	for _, e := range sorted {
		if n := len(kept); n > 0 && kept[n-1].Prefix == e.Prefix {
			if kept[n-1].Until.Before(e.Until) {
				kept[n-1].Until = e.Until
			}
			continue
		}
		kept = append(kept, e)
	}
	return kept
}

// outermost leaves out entries that lie inside another one of the list.
func outermost(sorted []Entry) iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		var outer netip.Prefix
		for _, e := range sorted {
			if outer.IsValid() && outer.Contains(e.Prefix.Addr()) {
				continue
			}
			outer = e.Prefix
			if !yield(e) {
				return
			}
		}
	}
}
