package packet

import (
	"fmt"
	"net/netip"

	"edgeguard"
)

// allKinds are those that a capture can show. The answers of HTTP servers are
// left to their logs.
const allKinds = edgeguard.KindPacket | edgeguard.KindSYN | edgeguard.KindHandshake |
	edgeguard.KindUDP | edgeguard.KindICMP | edgeguard.KindRequest

// flowKinds need the state of TCP flows; the others do not pay for it.
const flowKinds = edgeguard.KindHandshake | edgeguard.KindRequest

// Options say what to read. The zero value reads every kind in both
// directions.
type Options struct {
	// Kinds are the kinds of event wanted; 0 means all that a capture can
	// show. A packet of another kind makes no event. Handshake and Request
	// cost a look-up for each TCP packet, the others nothing.
	Kinds edgeguard.Kind
	// Local are the prefixes on this side. Where there are any, only packets
	// that come in make events: to a local address, from one that is not.
	Local []netip.Prefix
	// Answers asks which packets answer others, see edgeguard.Event. It costs a look-up
	// for each TCP and UDP packet.
	Answers bool
	// Seed places flows in their table. 0 reads the same file always the same
	// way; live traffic needs a random one, so that no one can aim at another
	// flow's place.
	Seed uint64
}

// check returns the options with their defaults, or what is wrong with them.
func (o Options) check() (Options, error) {
	if o.Kinds == 0 {
		o.Kinds = allKinds
	}
	if o.Kinds&allKinds == 0 {
		return o, fmt.Errorf("a capture shows no event of kind %v: ask for one of %v", o.Kinds, allKinds)
	}
	local := make([]netip.Prefix, 0, len(o.Local))
	for _, p := range o.Local {
		if !p.IsValid() {
			return o, fmt.Errorf("local prefix %v is not valid: write it like 192.0.2.0/24", p)
		}
		local = append(local, unmap(p))
	}
	o.Local = local
	return o, nil
}

// unmap turns ::ffff:192.0.2.0/120 into 192.0.2.0/24, since addresses of
// events are unmapped.
func unmap(p netip.Prefix) netip.Prefix {
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p.Masked()
}
