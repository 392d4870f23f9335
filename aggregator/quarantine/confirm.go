package quarantine

import (
	"net/netip"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
)

// Version returns the greatest version known of a prefix, in the list or held.
// An operator's block of the prefix needs a greater one.
func (q *Quarantine) Version(prefix netip.Prefix) uint64 {
	q.mu.Lock()
	held := q.held[prefix].Version
	q.mu.Unlock()
	return max(held, q.list.Version(prefix))
}

// Confirm puts a held record in force, as an operator asked: see
// [blocklist.List.Confirm]. The counts of an unblocked prefix must then be cleared.
// ok is false if no record of exactly this prefix is held. The error is the
// list's, which may refuse the block; then it stays held.
func (q *Quarantine) Confirm(now time.Time, prefix netip.Prefix) (b edgeguard.Block, ok bool, err error) {
	one, ok := q.takeFitting(prefix, func(*Held) bool { return true })
	if !ok {
		return b, false, nil
	}
	b = one.Block
	b.Version++
	b, _, err = q.list.Confirm(b, now)
	q.mu.Lock()
	defer q.mu.Unlock()
	if err != nil {
		q.held[prefix] = one
		q.queue(&one)
		return b, true, err
	}
	q.stats.Confirmed++
	return b, true, nil
}

// Withdraw removes a held block or allowance in the whole fleet: its tombstone goes
// into the list, which publishes it. ok is false if none of exactly this prefix is
// held. A held unblock cannot be withdrawn: block the prefix instead.
func (q *Quarantine) Withdraw(now time.Time, prefix netip.Prefix, reason, origin string) (tombstone edgeguard.Block, ok bool) {
	one, ok := q.takeFitting(prefix, func(one *Held) bool { return !one.Lifted })
	if !ok {
		return edgeguard.Block{}, false
	}
	b := one.Block
	b.Version = max(b.Version, q.list.Version(prefix))
	b = blocklist.Tombstone(b, now, reason, origin)
	err := q.list.Withdraw(b, one.Trust, now)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stats.Withdrawn++
	return b, err == nil // it may have expired
}

// takeFitting removes a held record that fits and returns it.
func (q *Quarantine) takeFitting(prefix netip.Prefix, fits func(*Held) bool) (Held, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	one, ok := q.held[prefix]
	if !ok || !fits(&one) {
		return Held{}, false
	}
	delete(q.held, prefix)
	return one, true
}
