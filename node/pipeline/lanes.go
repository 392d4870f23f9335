package pipeline

import (
	"net/netip"
	"sync"
)

// lanes are held for reading by every decision, and closed for the moment in
// which a reload replaces what decides. They are split by address, so that
// decisions on different processors share no cache line. The zero value is open.
type lanes [64]struct {
	sync.RWMutex           // held for reading while the generation is used
	_            [104]byte // to the next two cache lines: processors fetch them in pairs
}

// of returns the lane of an address.
func (l *lanes) of(addr netip.Addr) *sync.RWMutex {
	b := addr.As16()
	return &l[(b[15]^b[13]^b[7]^b[6])%uint8(len(l))].RWMutex
}

// close closes all lanes and returns when no decision is under way.
func (l *lanes) close() {
	for i := range l {
		l[i].Lock()
	}
}

// open lets the decisions that wait go on.
func (l *lanes) open() {
	for i := range l {
		l[i].Unlock()
	}
}
