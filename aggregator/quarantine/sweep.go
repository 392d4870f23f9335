package quarantine

import (
	"time"

	"edgeguard/blocklist"
	"edgeguard/detector"
)

// Sweep drops held blocks that have expired, and merges those that no longer
// need to be held: a block of their prefix is in force, or they waited for the
// budget and it is free. Call it about once a second.
func (q *Quarantine) Sweep(now time.Time, d *detector.Detector) {
	for _, one := range q.sweep(now, d) {
		_, _ = q.list.Agree(one.Block, one.Trust, now) // what the list refuses need not be held
	}
}

// sweep returns the blocks to merge.
func (q *Quarantine) sweep(now time.Time, d *detector.Detector) (ready []Held) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for prefix, one := range q.held {
		if !now.Before(one.Until) {
			q.drop(prefix, &q.stats.Withdrawn)
			continue
		}
		if standing, b := q.list.Find(now, prefix.Addr()); standing == blocklist.Blocked && b.Prefix == prefix {
			q.drop(prefix, &q.stats.ConfirmedByCounts)
			ready = append(ready, one)
		}
	}
	if len(q.held) == 0 || q.budget.sum(now) > 0 {
		return ready
	}
	// Only with an empty budget, and not as soon as something fits: each round
	// admits some without a charge until one does not fit.
	sample, passes := q.recentSample(now, d), q.passes(now)
	for prefix, one := range q.held {
		if one.Share > 0 || !sample.Enough() {
			continue
		}
		if !q.charge(now, prefix, sample.Share(prefix, passes)) {
			break
		}
		q.drop(prefix, &q.stats.AdmittedLater)
		ready = append(ready, one)
	}
	return ready
}
