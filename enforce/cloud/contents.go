package cloud

import (
	"net/netip"
	"sync"
)

// Contents is what a list in a cloud has, as of the last write that succeeded. It is safe for
// concurrent use.
type Contents struct {
	mu   sync.Mutex // guards all below
	in   []netip.Prefix
	left int
}

// SetContents says what a list has now, as [hottest] returns it, and how many blocks had no place.
func (h *Contents) SetContents(in []netip.Prefix, left int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.in, h.left = in, left
}

// Left returns how many blocks are not in force there.
func (h *Contents) Left() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.left
}

// Refuses returns a function that reports whether all of a prefix is in the list.
func (h *Contents) Refuses() func(netip.Prefix) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	in := h.in
	return func(p netip.Prefix) bool { return covered(in, p) }
}
