package lists

import (
	"iter"
	"net/netip"
	"slices"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/blocklist/imported"
	"edgeguard/config"
	"edgeguard/enforce"
)

// InForce is the blocks that enforcers are to carry out: of the node's own list and of
// the imported lists. Nothing is in force in mode monitor, and nothing of an
// address that is allowed, protected or another node's. It is safe for concurrent use.
type InForce struct {
	Current   func() *config.Config // in force
	List      *blocklist.List
	Imported  *imported.Set
	Protected func() []netip.Prefix // that are blocked by force only
}

// ListSources reports whether imported blocks of a source are wanted. Nil wants all.
type ListSources func(source string) bool

// ownOnly wants no imported block: for what leaves this node.
func ownOnly(string) bool { return false }

// All returns the blocks in force at now with the imported ones that are wanted, in no
// order. One prefix may be among them twice, of the own list and imported: it ends with
// the later. An imported block's Rule names its source.
func (b *InForce) All(now time.Time, wanted ListSources) iter.Seq[edgeguard.Block] {
	if b.Current().Monitor {
		return func(func(edgeguard.Block) bool) {}
	}
	signed, claimed := b.List.Peers()
	allowed, protected := b.allowed(now), slices.Concat(b.Protected(), signed)
	forced := func(b2 *edgeguard.Block) bool { // by its own record: a forced one inside it says nothing of it
		return covered(protected, b2.Prefix) && b.List.Trust(b2.Prefix).Here
	}
	spared := slices.Concat(protected, allowed)
	aroundClaimed := slices.Concat(spared, claimed)
	own, others := b.List.All(now), b.others(now, wanted)
	parts := []iter.Seq[edgeguard.Block]{
		enforce.Around(filter(own, func(b *edgeguard.Block) bool { return !forced(b) && !blocklist.IsKey(b.Prefix) }), aroundClaimed),
		enforce.Around(filter(own, func(b *edgeguard.Block) bool { return !forced(b) && blocklist.IsKey(b.Prefix) }), spared),
		enforce.Around(filter(own, forced), allowed),
		enforce.Around(filter(others, func(b *edgeguard.Block) bool { return !blocklist.IsKey(b.Prefix) }), aroundClaimed),
		enforce.Around(filter(others, func(b *edgeguard.Block) bool { return blocklist.IsKey(b.Prefix) }), spared),
	}
	return func(yield func(edgeguard.Block) bool) {
		for _, part := range parts {
			for b := range part {
				if !yield(b) {
					return
				}
			}
		}
	}
}

// others returns the imported blocks that are wanted.
func (b *InForce) others(now time.Time, wanted ListSources) iter.Seq[edgeguard.Block] {
	list := b.Imported.Blocks()
	if list == nil {
		return func(func(edgeguard.Block) bool) {}
	}
	return filter(list.All(now), func(b *edgeguard.Block) bool { return wanted.has(b) })
}

func (s ListSources) has(b *edgeguard.Block) bool { return s == nil || s(edgeguard.Owner(b.Rule)) }

// Changed returns what an enforcer has to hold for the prefix of a block of the own list
// that changed: the block, unless an imported one ends later. kernel says that the enforcer
// gets no block that was learned behind a proxy.
func (b *InForce) Changed(own edgeguard.Block, now time.Time, wanted ListSources, kernel bool) edgeguard.Block {
	other := b.Imported.BlockOf(now, own.Prefix)
	if other == nil || !wanted.has(other) {
		return own
	}
	if over := own.Lifted || !now.Before(own.Until); over || kernel && own.Proxied || own.Until.Before(other.Until) {
		return *other
	}
	return own
}

// At returns the block that is in force for the prefix of an imported block that changed,
// a tombstone if there is none.
func (b *InForce) At(prefix netip.Prefix, now time.Time, wanted ListSources, kernel bool) edgeguard.Block {
	own := edgeguard.Block{Prefix: prefix, Lifted: true}
	if standing := b.List.BlockOf(now, prefix); standing != nil {
		own = *standing
	}
	return b.Changed(own, now, wanted, kernel)
}

// InParts reports whether only parts of a block of this prefix are in force, or of one
// around it. Such a part may have this very prefix: an enforcer that is told that the
// prefix has ended would lift the part. Then it has to read the whole list.
func (b *InForce) InParts(prefix netip.Prefix, now time.Time) bool {
	if b.List.HasExempt(prefix) {
		return true
	}
	widest := imported.WidestWideV4
	if prefix.Addr().Is6() {
		widest = imported.WidestWideV6
	}
	if around, err := prefix.Addr().Prefix(min(widest, prefix.Bits())); err != nil || !b.List.HasExempt(around) {
		return false // and so nothing around it does: most changes end here, without a lock
	}
	cut := func(one edgeguard.Block) bool { return b.List.HasExempt(one.Prefix) }
	if slices.ContainsFunc(b.List.Around(now, prefix), cut) {
		return true
	}
	others := b.Imported.Blocks()
	return others != nil && slices.ContainsFunc(others.Around(now, prefix), cut)
}

func filter(blocks iter.Seq[edgeguard.Block], keep func(*edgeguard.Block) bool) iter.Seq[edgeguard.Block] {
	return func(yield func(edgeguard.Block) bool) {
		for b := range blocks {
			if keep(&b) && !yield(b) {
				return
			}
		}
	}
}

// covered reports whether p lies inside one of the prefixes.
func covered(prefixes []netip.Prefix, p netip.Prefix) bool {
	for _, outer := range prefixes {
		if outer.Bits() <= p.Bits() && outer.Contains(p.Addr()) {
			return true
		}
	}
	return false
}

// allowed returns the prefixes in which no address is blocked at now: the
// allowlist of the config and the allowances made at run time.
func (b *InForce) allowed(now time.Time) []netip.Prefix {
	all := slices.Clone(b.Current().Allowlist)
	for a := range b.List.Allowances(now) {
		all = append(all, a.Prefix)
	}
	return all
}
