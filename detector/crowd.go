package detector

import (
	"encoding/binary"
	"math"
	"net/netip"
	"sync"
)

// Who sends the requests of the last minutes is estimated, by a sample of them.

// sampleBits chooses one of 2^sampleBits requests.
const sampleBits = 3

// Sampled chooses every eighth of a running count, spread so that no pattern
// of arrivals is in step with it.
func Sampled(n uint64) bool { return n*0x9e3779b97f4a7c15>>(64-sampleBits) == 0 }

// crowds samples the requests of all addresses. They are divided because each crowd
// is a vote of separate addresses. The zero value is ready. It is safe for
// concurrent use.
type crowds struct{ all [64]crowd }

// crowd is who sends the requests of a 64th of all addresses.
type crowd struct {
	mu       sync.Mutex // guards all below
	majority dominance
	recent   *recent // made with the first request
}

// crowdOf returns which crowd an address belongs to.
func crowdOf(addr netip.Addr) uint64 {
	b := addr.As16()
	h := binary.LittleEndian.Uint64(b[:8]) ^ binary.LittleEndian.Uint64(b[8:])*0x9e3779b97f4a7c15
	return h * 0xff51afd7ed558ccd >> 58
}

// sampledOf returns how many of the next n of a running count are sampled.
func sampledOf(count, n uint64) uint32 {
	sampled := n >> sampleBits
	for i := range n & (1<<sampleBits - 1) {
		if Sampled(count + i) {
			sampled++
		}
	}
	return uint32(min(sampled, math.MaxUint32))
}

// NoteRequests notes requests of one address that were sampled at the second now: of those
// that it made, every eighth. spared says that the address may not be blocked.
func (s *crowds) NoteRequests(now uint32, addr netip.Addr, spared bool, requests uint32) {
	which := crowdOf(addr)
	c := &s.all[which]
	c.mu.Lock()
	defer c.mu.Unlock()
	c.majority.noteRequests(now/dominanceSpan, addr, spared, requests)
	if c.recent == nil {
		c.recent = &recent{drawn: which << 56} // no two crowds draw alike
	}
	c.recent.noteRequests(now/recentWidth, addr, requests)
}

// addSaturating returns a + b, and the greatest number where that is more.
func addSaturating(a, b uint32) uint32 { return a + min(b, math.MaxUint32-a) }
