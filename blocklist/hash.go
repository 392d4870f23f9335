package blocklist

import (
	"hash/maphash"
	"math/bits"
)

// hash says where an entry of the index lies: its highest bits choose the page,
// the lowest eight are its tag, the next ones choose the bucket.
type hash uint64

// slotTag is never 0, which marks a free slot.
func (h hash) slotTag() uint8 { return max(1, uint8(h)) }

// bucket is to be taken modulo pageBuckets.
func (h hash) bucket() uint { return uint(h >> 8) }

// seed makes hashes. It is secret, so that no client can choose addresses that
// meet in one bucket.
type seed [2]uint64

func newSeed() *seed {
	random := maphash.MakeSeed()
	return &seed{maphash.Bytes(random, []byte{0}), maphash.Bytes(random, []byte{1})}
}

// hashNetwork multiplies and folds twice (the mixing step of wyhash, Wang Yi 2019,
// public domain).
func (s *seed) hashNetwork(n network, length uint8) hash {
	hi, lo := bits.Mul64(n.hi^s[0], n.lo^s[1]^uint64(length)<<32)
	hi, lo = bits.Mul64(hi^lo^s[0], 0x9e3779b97f4a7c15)
	return hash(hi ^ lo)
}

// hashOfEntry returns the hash of a standing block.
func (s *seed) hashOfEntry(e *entry) hash { return s.hashNetwork(e.network, e.length) }
