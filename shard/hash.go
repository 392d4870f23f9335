package shard

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"

	"github.com/cespare/xxhash/v2"

	"edgeguard/internal/unsafetext"
)

// The primes of XXH64.
const (
	prime1 uint64 = 11400714785074694791
	prime2 uint64 = 14029467366897019727
	prime3 uint64 = 1609587929392839161
	prime4 uint64 = 9650029242287828579
	prime5 uint64 = 2870177450012600261
)

// hash1 is XXH64 with a seed over one word of eight bytes, written out: the
// same value as that of xxhash.NewWithSeed (a test holds it), without a digest
// and without bytes in memory. The seed is secret to the process, so that
// no client can choose addresses that share a page.
//
// Source: the XXH64 specification, github.com/Cyan4973/xxHash,
// doc/xxhash_spec.md.
func hash1(seed, w uint64) uint64 {
	return avalanche(round(seed+prime5+8, w))
}

// hash2 is the same over two words.
func hash2(seed, w0, w1 uint64) uint64 {
	return avalanche(round(round(seed+prime5+16, w0), w1))
}

func round(h, w uint64) uint64 {
	h ^= bits.RotateLeft64(w*prime2, 31) * prime1
	return bits.RotateLeft64(h, 27)*prime1 + prime4
}

func avalanche(h uint64) uint64 {
	h ^= h >> 33
	h *= prime2
	h ^= h >> 29
	h *= prime3
	return h ^ h>>32
}

// Fingerprint is what a table keeps of a key's attributes. It has no secret,
// so that a key has the same identity on every node and after a restart. Who
// finds two texts with one fingerprint has merged two counts of his own: the
// address is part of the key. Where it is not, he would have merged those of
// others, and everybody says that the hash must not let him: it is then the
// first 8 bytes of SHA-256.
func Fingerprint(with string, everybody bool) uint64 {
	if everybody {
		sum := sha256.Sum256(unsafetext.Bytes(with))
		return binary.BigEndian.Uint64(sum[:])
	}
	return xxhash.Sum64String(with)
}

// Value returns what stands for a text in a table of marks. The seed must be secret: who
// knows it can make texts that count as one.
func Value(seed uint64, text string) uint64 {
	var d xxhash.Digest
	d.ResetWithSeed(seed)
	_, _ = d.WriteString(text) // it never fails
	return d.Sum64()
}
