package quarantine

import (
	"net/netip"
	"time"

	"edgeguard/blocklist"
	"edgeguard/detector"
)

// Sweep drops held records that have expired, and merges those that no longer
// need to be held: a block of their prefix is in force, they waited for the
// budget and it is free, or they waited for room and there is some. It returns the
// prefixes that this unblocked, whose counts must be cleared. Call it about once a
// second.
func (q *Quarantine) Sweep(now time.Time, d *detector.Detector) (unblocked []netip.Prefix) {
	for _, one := range q.sweep(now, d) {
		changed, _ := q.list.Agree(one.Block, one.Trust, now) // what the list refuses need not be held
		if changed && one.Forgets() {
			unblocked = append(unblocked, one.Prefix)
		}
	}
	return unblocked
}

// sweep returns the records to merge.
func (q *Quarantine) sweep(now time.Time, d *detector.Detector) (ready []Held) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for prefix, one := range q.held {
		if !now.Before(one.Until) {
			q.drop(prefix, &q.stats.Withdrawn)
			continue
		}
		if !isBlock(&one.Block) {
			continue
		}
		if standing, b := q.list.Find(now, prefix.Addr()); standing == blocklist.Blocked && b.Prefix == prefix {
			q.drop(prefix, &q.stats.ConfirmedByCounts)
			ready = append(ready, one)
		}
	}
	ready = q.admitQueued(now, d, ready)
	if len(q.held) == 0 || q.budget.sum(now) > 0 {
		return ready
	}
	return q.admitUncharged(now, d, ready)
}

// admitQueued adds the records that waited for room while there is some, oldest
// first. Each is weighed again. The caller holds the lock.
func (q *Quarantine) admitQueued(now time.Time, d *detector.Detector, ready []Held) []Held {
	admitted := 0
	for which := range q.pace.queues {
		for admitted < sweepMost && q.pace.room(now, which) {
			prefix, ok := q.pace.next(which)
			if !ok {
				break
			}
			one, ok := q.waits(prefix, which)
			if !ok {
				continue
			}
			delete(q.held, prefix)
			if !q.judge(now, d, &one, false) {
				q.held[prefix] = one // for another reason
				continue
			}
			admitted++
			q.stats.AdmittedLater++
			ready = append(ready, one)
		}
	}
	return ready
}

// admitUncharged adds blocks that waited for the budget, which is empty. Only then,
// and not as soon as something fits: each round admits some without a charge until
// one does not fit. The caller holds the lock.
func (q *Quarantine) admitUncharged(now time.Time, d *detector.Detector, ready []Held) []Held {
	sample, passes := q.recentSample(now, d), q.passes(now)
	for prefix, one := range q.held {
		if one.Why != tooMuch || one.Share > 0 || !sample.Enough() {
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
