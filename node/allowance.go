package node

import (
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"time"

	"edgeguard"
)

// allowanceChanged hears of an allowance that was made, changed or taken back,
// or is over, on the goroutine that made the change. The lists that enforcers
// have are cut anew, whether blocks begin or cease to sleep in it.
func (n *Node) allowanceChanged(b edgeguard.Block) {
	over := !b.Lifted && !n.clock.Now().Before(b.Until)
	n.journal.hear(note{block: &b, over: over})
	n.state.touch()
	if !over { // who knows the allowance knows its end
		n.tellFleet(b)
	}
	n.refreshOutlets()
}

// allowed gives the prefixes that nobody is blocked in at now: the allowlist of
// the config and the allowances made at run time.
func (n *Node) allowed(now time.Time) []netip.Prefix {
	all := slices.Clone(n.pipeline.Current().Config.Allowlist)
	for a := range n.list.Allowances(now) {
		all = append(all, a.Prefix)
	}
	return all
}

// Allowlist implements admin.Reader.
func (v view) Allowlist() []netip.Prefix { return v.pipeline.Current().Config.Allowlist }

// Allowances implements admin.Reader.
func (v view) Allowances(now time.Time) iter.Seq[edgeguard.Block] {
	return func(yield func(edgeguard.Block) bool) {
		for a := range v.list.Allowances(v.clock.Local(now)) {
			if !yield(v.outward(a)) {
				return
			}
		}
	}
}

// Allow implements admin.Operator.
func (v view) Allow(b edgeguard.Block, force bool) (edgeguard.Block, error) {
	b.Allow = true
	return v.add(b, force)
}

// Disallow implements admin.Operator.
func (v view) Disallow(prefix netip.Prefix, reason string) (edgeguard.Block, bool) {
	lifted, ok := v.list.Disallow(prefix, v.clock.Now(), reason, v.pipeline.Current().Config.Node)
	return v.outward(lifted), ok
}

// add makes a block or an allowance by an operator's hand.
func (v view) add(b edgeguard.Block, force bool) (edgeguard.Block, error) {
	b = v.inward(b)
	b.Origin = v.pipeline.Current().Config.Node
	b, _, err := v.list.Add(b, force, v.clock.Now())
	return v.outward(b), err
}

// allowance says which allowance an address is spared by; empty for none.
func (v view) allowance(addr netip.Addr) string {
	for _, p := range v.Allowlist() {
		if p.Contains(addr) {
			return "allowlist " + p.String()
		}
	}
	a, ok := v.list.Allowance(v.clock.Now(), netip.PrefixFrom(addr, addr.BitLen()))
	if !ok {
		return ""
	}
	text := fmt.Sprintf("allowance of %s, made on %s", a.Prefix, a.Origin)
	if a.Reason != "" {
		text += ": " + a.Reason
	}
	return text
}
