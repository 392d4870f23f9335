package edgeguard

import "net/netip"

// Slots is how many parts a sliding window has. A slot is a window's length
// divided by Slots, in whole seconds.
const Slots = 60

// MaxLimit is the greatest limit that a rule can have. A slot holds 65,535 and
// stays there, so a count above a greater limit might never be seen.
const MaxLimit = 65_534

// Everybody is the prefix under which tables, snapshots and Redis hold the keys
// that have no address. It is never shown to a list: a [Key] without an address has
// no Prefix.
var Everybody = netip.PrefixFrom(netip.IPv4Unspecified(), 32)

// Key is what is counted together: a prefix of the address, and for some
// meters the value of further attributes.
type Key struct {
	// Prefix is not valid in a key without an address.
	Prefix netip.Prefix
	// With is the attributes' values as shown to people ("host=example.org"),
	// empty for a key of the address alone.
	With string
}

// String returns the bare address for a single address, the prefix otherwise, or
// "everybody" for none, followed by the attributes if there are any.
func (k Key) String() string {
	s := "everybody"
	switch {
	case k.Prefix.IsSingleIP():
		s = k.Prefix.Addr().String()
	case k.Prefix.IsValid():
		s = k.Prefix.String()
	}
	if k.With != "" {
		s += " " + k.With
	}
	return s
}
