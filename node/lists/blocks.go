package lists

import (
	"iter"
	"net/netip"
	"slices"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/enforce"
)

// blocks returns the blocks that enforcers are given: none in mode monitor, and
// none of an exempt address.
func (e *Enforcers) blocks(now time.Time) iter.Seq[edgeguard.Block] {
	if e.config.Current().Monitor {
		return func(func(edgeguard.Block) bool) {}
	}
	signed, claimed := e.config.List.Peers()
	allowed, protected := e.allowed(now), slices.Concat(e.config.Protected(), signed)
	forced := func(b edgeguard.Block) bool {
		standing, _ := e.config.List.Find(now, b.Prefix.Addr())
		return standing == blocklist.Blocked && covered(protected, b.Prefix)
	}
	spared := slices.Concat(protected, allowed)
	return func(yield func(edgeguard.Block) bool) {
		for _, part := range []struct {
			blocks func(edgeguard.Block) bool
			exempt []netip.Prefix
		}{
			{func(b edgeguard.Block) bool { return !forced(b) && !blocklist.IsKey(b.Prefix) }, append(spared, claimed...)},
			{func(b edgeguard.Block) bool { return !forced(b) && blocklist.IsKey(b.Prefix) }, spared},
			{forced, allowed},
		} {
			for b := range enforce.Around(filter(e.config.List.All(now), part.blocks), part.exempt) {
				if !yield(b) {
					return
				}
			}
		}
	}
}

func filter(blocks iter.Seq[edgeguard.Block], keep func(edgeguard.Block) bool) iter.Seq[edgeguard.Block] {
	return func(yield func(edgeguard.Block) bool) {
		for b := range blocks {
			if keep(b) && !yield(b) {
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
func (e *Enforcers) allowed(now time.Time) []netip.Prefix {
	all := slices.Clone(e.config.Current().Allowlist)
	for a := range e.config.List.Allowances(now) {
		all = append(all, a.Prefix)
	}
	return all
}

// rank returns how many requests were refused because of a block, and when the last one
// was. A part of a block around an exempt address has those of the whole.
func (e *Enforcers) rank(p netip.Prefix) (refusals uint32, last time.Time) {
	refusals, last, ok := e.config.List.Refusals(p)
	if ok {
		return refusals, last
	}
	if _, block := e.config.List.Find(e.config.Now(), p.Addr()); block != nil {
		refusals, last, _ = e.config.List.Refusals(block.Prefix)
	}
	return refusals, last
}
