package detector

import (
	"net/netip"
	"sync"

	"edgeguard"
)

// sampleBits chooses one of 2^sampleBits requests.
const sampleBits = 3

// sampled chooses every eighth of a running count, spread so that no pattern
// of arrivals is in step with it.
func sampled(n uint64) bool { return n*0x9e3779b97f4a7c15>>(64-sampleBits) == 0 }

// isRequest reports whether the event is one of those that a crowd is made of.
func isRequest(ev *edgeguard.Event) bool {
	return ev.Kind&(edgeguard.KindRequest|edgeguard.KindResponse) != 0
}

// crowd is who sends the requests of a 64th of all addresses, by a sample of one
// in eight.
type crowd struct {
	mu       sync.Mutex // guards all below
	majority dominance
	recent   *recent // made with the first request
}

// note samples one request at the second now.
func (c *crowd) note(now uint32, addr netip.Addr, spared bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.majority.note(now/dominanceSpan, addr, spared)
	if c.recent == nil {
		c.recent = new(recent)
	}
	c.recent.note(now/recentWidth, addr, spared)
}
