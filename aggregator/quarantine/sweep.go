package quarantine

import (
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/detector"
)

// Sweep drops held records that have expired, and merges those that no longer
// need to be held: a block of their prefix is in force, they waited for the
// budget, for a sample or for room, and now there is some. It returns the
// tombstones that unblocked a prefix by this, whose counts must be cleared. Call it about once a
// second.
func (q *Quarantine) Sweep(now time.Time, d *detector.Detector) (unblocked []edgeguard.Block) {
	q.admission.Lock()
	defer q.admission.Unlock()
	merge := func(one *Held) {
		changed, _ := q.list.Agree(one.Block, one.Trust, now) // what the list refuses need not be held
		if changed && one.Forgets() {
			unblocked = append(unblocked, one.Block)
		}
	}
	confirmed, again := q.sweep(now, d)
	for i := range confirmed {
		merge(&confirmed[i])
	}
	admitted := 0
	try := func(one *Held) {
		if admitted < sweepMost && q.again(now, d, one) {
			admitted++
			merge(one)
		}
	}
	for which := range q.pace.queues {
		for admitted < sweepMost {
			one, ok := q.nextQueued(now, d, which)
			if !ok {
				break
			}
			try(&one)
		}
	}
	for i := range again {
		try(&again[i])
	}
	return unblocked
}

// sweep returns the records that are confirmed by what is in force, and those that may be
// weighed again.
func (q *Quarantine) sweep(now time.Time, d *detector.Detector) (confirmed, again []Held) {
	q.mu.Lock()
	defer q.mu.Unlock()
	sample := q.recentSample(now, d)
	q.settleCharges(now, sample)
	q.budget.full.signed, q.budget.full.unsigned = false, false
	var unseen []Held
	for prefix, one := range q.held {
		switch {
		case !now.Before(one.Until):
			q.dropHeld(prefix, &q.stats.Withdrawn)
			continue
		case isBlock(&one.Block) && q.confirms(q.list.BlockOf(now, prefix), &one):
			q.dropHeld(prefix, &q.stats.ConfirmedByCounts)
			confirmed = append(confirmed, one)
			continue
		case !sample.Enough():
		case one.Why == Unseen:
			again = append(again, one)
		case one.Why != tooMuch:
		case one.Share == 0:
			unseen = append(unseen, one)
		case q.budget.sum.usedBeside(one.Trust.Signed)+one.Share <= q.limit:
			again = append(again, one)
		}
		// Those without a share wait while one with a share does.
		if one.Why == tooMuch && 0 < one.Share && one.Share <= q.limit {
			q.budget.refill(one.Trust.Signed)
		}
	}
	for _, one := range unseen {
		if !q.budget.isFull(one.Trust.Signed) {
			again = append(again, one)
		}
	}
	return confirmed, again
}

// confirms reports whether a block that is in force, nil for none, releases a held one of
// its prefix: one of this node's own word. Unless counts made that, the held one has to end
// no later, and so has one that waits for its width: what an operator blocked for ten
// minutes is not blocked for a year because another node says so.
func (q *Quarantine) confirms(b *edgeguard.Block, one *Held) bool {
	return b != nil && !q.list.Trust(b.Prefix).Elsewhere && (one.Why != Wide && counted(b) || !one.Until.After(b.Until.Add(time.Second)))
}

// nextQueued returns the record that has waited longest for room, if there is some.
func (q *Quarantine) nextQueued(now time.Time, d *detector.Detector, which int) (one Held, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for which == keys && q.recentSample(now, d).Enough() || q.pace.hasRoom(now, which) {
		prefix, ok := q.pace.takeLongestWaiting(which)
		if !ok {
			break
		}
		if one, ok = q.waits(prefix, which); ok {
			return one, true
		}
	}
	return one, false
}

// again judges a held record again, and reports whether it is admitted.
func (q *Quarantine) again(now time.Time, d *detector.Detector, one *Held) (admitted bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if known, ok := q.held[one.Prefix]; !ok || blocklist.Greater(known.Block, one.Block) {
		return false
	}
	delete(q.held, one.Prefix)
	if !q.judge(now, d, one, false) {
		q.held[one.Prefix] = *one // for another reason, perhaps
		q.queue(one)
		return false
	}
	q.stats.AdmittedLater++
	return true
}
