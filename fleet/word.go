package fleet

import (
	"net/netip"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
)

// Version is the greatest version known of a prefix, in the list or waiting. An
// operator's block of it needs a greater one.
func (h *Hold) Version(prefix netip.Prefix) uint64 {
	h.mu.Lock()
	held := h.held[prefix].Version
	h.mu.Unlock()
	return max(held, h.list.Version(prefix))
}

// Confirm puts a waiting block in force on an operator's word: as a forced one,
// with the next version, so that the other nodes need no second word. ok is
// false if none of exactly this prefix waits. The error is the list's, which may
// refuse it still; then it goes on waiting.
func (h *Hold) Confirm(now time.Time, prefix netip.Prefix) (b edgeguard.Block, ok bool, err error) {
	one, ok := h.take(prefix)
	if !ok {
		return b, false, nil
	}
	b = one.Block
	b.Version++
	b, _, err = h.list.Add(b, true, now)
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil {
		h.held[prefix] = one
		return b, true, err
	}
	h.stats.Confirmed++
	return b, true, nil
}

// Lift takes a waiting block back in the whole fleet: its tombstone goes into the list, which publishes it. ok is false if none of exactly
// this prefix waits.
func (h *Hold) Lift(now time.Time, prefix netip.Prefix, reason, origin string) (tombstone edgeguard.Block, ok bool) {
	one, ok := h.take(prefix)
	if !ok {
		return edgeguard.Block{}, false
	}
	b := one.Block
	b.Version = max(b.Version, h.list.Version(prefix))
	b = blocklist.Tombstone(b, now, reason, origin)
	_, err := h.list.Merge(b, now)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stats.Withdrawn++
	return b, err == nil // it has ended meanwhile
}

// take gives a waiting block, which waits no more.
func (h *Hold) take(prefix netip.Prefix) (Held, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	one, ok := h.held[prefix]
	delete(h.held, prefix)
	return one, ok
}
