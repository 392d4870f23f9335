package aggregator

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/cespare/xxhash/v2"

	"edgeguard"
)

// Key is a suspect's name in the whole fleet. It is comparable.
type Key struct {
	// Meter is the meter's fingerprint.
	Meter uint64
	// Prefix is masked, and unmapped; [edgeguard.Everybody] of a key without an address.
	Prefix netip.Prefix
	// With is the fingerprint of the attributes, 0 for a key without.
	With uint64
}

// Append adds the key's binary form to b: the meter (8 bytes, big-endian), the
// bits of the prefix (1), the address (4 or 16) and, unless it is 0, With (8).
// The four lengths differ, so that every key has one form and every form at
// most one key.
func (k Key) Append(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(b, k.Meter)
	b = append(b, uint8(k.Prefix.Bits()))
	if addr := k.Prefix.Addr(); addr.Is4() {
		a := addr.As4()
		b = append(b, a[:]...)
	} else {
		a := addr.As16()
		b = append(b, a[:]...)
	}
	if k.With != 0 {
		b = binary.BigEndian.AppendUint64(b, k.With)
	}
	return b
}

// ParseKey reads what [Key.Append] wrote. It refuses every other form: a prefix
// with host bits, a mapped address, a With of 0 that is written out.
func ParseKey(b []byte) (Key, error) {
	const before = 8 + 1
	var k Key
	var size int
	switch len(b) {
	case before + 4, before + 4 + 8:
		size = 4
	case before + 16, before + 16 + 8:
		size = 16
	default:
		return k, fmt.Errorf("key of %d bytes: not 13, 21, 25 or 33", len(b))
	}
	addr, _ := netip.AddrFromSlice(b[before : before+size])
	k.Meter = binary.BigEndian.Uint64(b)
	k.Prefix = netip.PrefixFrom(addr, int(b[8]))
	if rest := b[before+size:]; len(rest) > 0 {
		if k.With = binary.BigEndian.Uint64(rest); k.With == 0 {
			return Key{}, fmt.Errorf("key %x: attributes of 0 are left out", b)
		}
	}
	if !canonical(k.Prefix) {
		return Key{}, fmt.Errorf("key %x: %s is not a masked prefix", b, k.Prefix)
	}
	return k, nil
}

// HasAddress reports whether the key is of an address, so that lists can say something of it.
func (k Key) HasAddress() bool { return k.Prefix != edgeguard.Everybody }

// Partition returns which of n partitions (at least 1) holds the key's counts.
func (k Key) Partition(n int) int {
	var b [33]byte
	return int(xxhash.Sum64(k.Append(b[:0])) % uint64(n))
}

// canonical reports whether a prefix is valid, masked and not of mapped IPv4,
// so that it has one written form.
func canonical(p netip.Prefix) bool {
	return p.IsValid() && p == p.Masked() && !p.Addr().Is4In6()
}

// compare orders keys: for what must not depend on the order of a map.
func (k Key) compare(other Key) int {
	return cmp.Or(cmp.Compare(k.Meter, other.Meter), k.Prefix.Compare(other.Prefix), cmp.Compare(k.With, other.With))
}
