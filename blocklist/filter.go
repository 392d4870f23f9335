package blocklist

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"sync/atomic"
)

// filter answers "nothing is known of this address" with one memory access, for
// nearly all addresses for which that is true: a trie of a hundred thousand
// prefixes needs several, each waiting for the one before. It is a bit for
// each IPv4 /24 and for each hash of an IPv6 /48; a bit is set while some
// prefix of the list touches its network. It never says no to an address that
// is in the list.
//
// Readers see the bits through atomic loads. The writer sets a bit before it
// publishes the prefix, and clears it after it has published that the last
// one is gone. A Bloom filter of whole addresses was rejected: prefixes come
// in all lengths, and nothing can be taken out of it.
type filter struct {
	bits []atomic.Uint64
	// counts says how many prefixes touch a network. The writer's.
	counts map[uint32]uint32
	// wide are the prefixes that touch more than maxCells networks; they are
	// looked at one by one. Replaced, never changed.
	wide atomic.Pointer[[]netip.Prefix]
}

const (
	cellBits = 24      // the filter has 1<<cellBits bits: 2 MiB
	maxCells = 1 << 12 // the most bits that one prefix sets: an IPv4 /12, an IPv6 /36
	v6Bits   = 48      // the IPv6 networks that have a bit
)

// newFilter makes an empty filter. Its bits come with the first prefix, before
// any view is published that asks it.
func newFilter() *filter { return &filter{counts: make(map[uint32]uint32)} }

// mayHold reports whether the list may know something of addr.
func (f *filter) mayHold(addr netip.Addr) bool {
	cell := cellOf(addr)
	if f.bits[cell/64].Load()&(1<<(cell%64)) != 0 {
		return true
	}
	wide := f.wide.Load()
	return wide != nil && slices.ContainsFunc(*wide, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// add makes the filter let addresses of p through.
func (f *filter) add(p netip.Prefix) {
	if f.bits == nil {
		f.bits = make([]atomic.Uint64, 1<<cellBits/64)
	}
	if cells(p) > maxCells {
		f.setWide(append(f.wides(), p))
		return
	}
	for cell := range touched(p) {
		if f.counts[cell]++; f.counts[cell] == 1 {
			f.bits[cell/64].Or(1 << (cell % 64))
		}
	}
}

// remove takes back one add of p.
func (f *filter) remove(p netip.Prefix) {
	if cells(p) > maxCells {
		wides := f.wides()
		if i := slices.Index(wides, p); i >= 0 {
			f.setWide(slices.Delete(wides, i, i+1))
		}
		return
	}
	for cell := range touched(p) {
		if f.counts[cell]--; f.counts[cell] == 0 {
			delete(f.counts, cell)
			f.bits[cell/64].And(^uint64(1 << (cell % 64)))
		}
	}
}

func (f *filter) wides() []netip.Prefix {
	if p := f.wide.Load(); p != nil {
		return slices.Clone(*p)
	}
	return nil
}

func (f *filter) setWide(prefixes []netip.Prefix) { f.wide.Store(&prefixes) }

// cells is how many networks p touches.
func cells(p netip.Prefix) uint64 {
	network := v6Bits
	if p.Addr().Is4() {
		network = cellBits
	}
	return 1 << max(0, network-p.Bits())
}

// touched returns the bits of the networks that p touches.
func touched(p netip.Prefix) func(yield func(uint32) bool) {
	first, hash := networkOf(p.Addr())
	n := cells(p)
	return func(yield func(uint32) bool) {
		for i := range n {
			if !yield(bitOf(first+i, hash)) {
				return
			}
		}
	}
}

// cellOf returns the bit of an address's network.
func cellOf(addr netip.Addr) uint32 { return bitOf(networkOf(addr)) }

// networkOf returns the number of the address's network, and whether its bit is
// found by a hash: there are more IPv6 networks than bits.
func networkOf(addr netip.Addr) (network uint64, hash bool) {
	if addr.Is4() {
		b := addr.As4()
		return uint64(binary.BigEndian.Uint32(b[:]) >> (32 - cellBits)), false
	}
	b := addr.As16()
	return binary.BigEndian.Uint64(b[:8]) >> (64 - v6Bits), true
}

// bitOf hashes by a multiplication with 2^64 divided by the golden ratio
// (Knuth, The Art of Computer Programming 3, 6.4): collisions cost a look-up
// in the trie and no answer changes, so no client gains by making them.
func bitOf(network uint64, hash bool) uint32 {
	if !hash {
		return uint32(network)
	}
	return uint32(network * 0x9e3779b97f4a7c15 >> (64 - cellBits))
}
