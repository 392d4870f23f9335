package pipeline

import (
	"net/netip"
	"sync"
)

// gate is passed by every decision, and closed for the moment in which a
// reload replaces what decides. It is split by address, so that passing it
// costs no cache line that all processors want. The zero value is open.
type gate [64]struct {
	sync.RWMutex
	_ [104]byte // to the next two cache lines: processors fetch them in pairs
}

// of gives the part of the gate for an address.
func (g *gate) of(addr netip.Addr) *sync.RWMutex {
	b := addr.As16()
	return &g[(b[15]^b[13]^b[7]^b[6])%uint8(len(g))].RWMutex
}

// shut closes all parts and returns when nobody is inside.
func (g *gate) shut() {
	for i := range g {
		g[i].Lock()
	}
}

// open lets in who waits.
func (g *gate) open() {
	for i := range g {
		g[i].Unlock()
	}
}
