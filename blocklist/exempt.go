package blocklist

import (
	"net/netip"
	"slices"

	"github.com/gaissmai/bart"

	"edgeguard"
)

// SetAllow replaces the allowlist; allowances made at run time stay. Prefixes
// are put right as in New. It returns the active blocks inside
// or around the new one, since an enforcer that has them must be updated. Find no
// longer applies them to what is allowlisted. They are kept for the rest, and for
// the day on which the allowlist changes back.
func (l *List) SetAllow(prefixes []netip.Prefix) (overruled []edgeguard.Block) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.current.allow = liteTable(prefixes)
	l.exempted()
	return l.overlapping(prefixes)
}

// SetProtected replaces the protected prefixes, with the same answer as
// SetAllow. Blocks that were forced on this node stay in force.
func (l *List) SetProtected(prefixes []netip.Prefix) (overruled []edgeguard.Block) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.current.protected = liteTable(prefixes)
	l.exempted()
	return l.overlapping(prefixes)
}

// HoldsProtected reports whether a protected address, or one of another node by its
// signed heartbeat, lies in prefix, or all of prefix is protected. It takes no lock.
func (l *List) HoldsProtected(prefix netip.Prefix) bool {
	v := l.view.Load()
	return v != nil && (v.protected.OverlapsPrefix(prefix) || v.peers.OverlapsPrefix(prefix))
}

// ProtectedIn returns at most so many of the protected prefixes, and of other nodes'
// addresses, that lie in prefix.
func (l *List) ProtectedIn(prefix netip.Prefix, most int) (found []netip.Prefix) {
	v := l.view.Load()
	if v == nil {
		return nil
	}
	for _, table := range []*bart.Lite{v.protected, v.peers} {
		for p := range table.Subnets(prefix) {
			if len(found) == most {
				return found
			}
			found = append(found, p)
		}
	}
	return found
}

// HasExempt reports whether blocks do not apply to some address of prefix, or only some
// do: it is allowed, protected or another node's. It takes no lock.
func (l *List) HasExempt(prefix netip.Prefix) bool {
	v := l.view.Load()
	if v == nil {
		return false
	}
	return v.exempt != nil && v.exempt.OverlapsPrefix(prefix) || v.allowances != nil && v.allowances.OverlapsPrefix(prefix)
}

// HasSpared reports whether some address of prefix is allowed or protected. It takes no
// lock.
func (l *List) HasSpared(prefix netip.Prefix) bool {
	v := l.view.Load()
	if v == nil {
		return false
	}
	if v.exempt != nil {
		for _, standing := range v.exempt.Subnets(prefix) {
			if standing == Allowed || standing == Protected {
				return true
			}
		}
	}
	return v.allowances != nil && v.allowances.OverlapsPrefix(prefix)
}

// exempted publishes new exempt prefixes. The filter gets the new ones before
// and loses the old ones after.
func (l *List) exempted() {
	old := l.exempt
	l.exempt = nil
	for _, t := range l.current.ranked() {
		l.exempt = slices.AppendSeq(l.exempt, t.All())
	}
	for _, p := range l.exempt {
		l.current.filter.add(p)
	}
	l.current.exempt = l.current.exemptTable()
	l.publish()
	for _, p := range old {
		l.current.filter.remove(p)
	}
}

// overlapping collects each standing block that overlaps one of the prefixes,
// once. It needs the lock.
func (l *List) overlapping(prefixes []netip.Prefix) []edgeguard.Block {
	var found []edgeguard.Block
	seen := make(map[netip.Prefix]bool)
	add := func(p netip.Prefix, e *entry) bool {
		if !seen[p] {
			seen[p] = true
			found = append(found, e.block)
		}
		return true
	}
	for _, p := range prefixes {
		if p, ok := clean(p); ok {
			l.blocks.Supernets(p)(add)
			l.blocks.Subnets(p)(add)
		}
	}
	return found
}

func liteTable(prefixes []netip.Prefix) *bart.Lite {
	t := new(bart.Lite)
	for _, p := range prefixes {
		if p, ok := clean(p); ok {
			t.Insert(p)
		}
	}
	return t
}

// ranked returns the tables of what is exempt, by rank: of two that hold an address
// the first counts.
func (v *view) ranked() [4]*bart.Lite {
	return [...]*bart.Lite{v.allow, v.protected, v.peers, v.claimed}
}

// exemptTable puts the tables into one in which the longest match is the answer. A
// prefix inside one of a table before its own is left out, because it would hide that
// that one counts.
func (v *view) exemptTable() *exempts {
	var before []*bart.Lite
	t := new(exempts)
	for i, one := range v.ranked() {
		for p := range one.All() {
			if !slices.ContainsFunc(before, func(earlier *bart.Lite) bool { return earlier.LookupPrefix(p) }) {
				t.Insert(p, [...]Standing{Allowed, Protected, Peer, claimed}[i])
			}
		}
		before = append(before, one)
	}
	if t.Size() == 0 {
		return nil
	}
	return t
}
