package quarantine

import (
	"fmt"
	"net/netip"
	"time"

	"edgeguard"
	"edgeguard/aggregator"
	"edgeguard/blocklist"
	"edgeguard/detector"
)

// Admit merges a block, an allowance or a tombstone of the fleet into the list
// as [blocklist.List.Agree] does, unless it must be held: then the error is
// [aggregator.ErrHeld]. What an operator signed, by force or as an unblock or
// allowance, is never held. A held record stays held when it comes again.
//
// A block is held if it, and the fleet's blocks that were admitted in the last
// five minutes, would newly refuse more than the limit of these minutes'
// requests. A block that matches nothing in the sample is admitted, unless the
// budget has already rejected a block: many such blocks add up. Then it is held
// until five minutes pass with nothing charged, and needs no confirmation.
//
// Of what is not signed, a forced block is weighed like any other. A forced block
// that is wider than an unforced one may be is held, and so are an allowance wider
// than /24 (IPv4) or /48 (IPv6), and an unblock of a wide prefix that ends nothing
// here: it would clear the counts of a whole network. A block or allowance that is in
// force for as long already is not held.
//
// In a minute, no more than 20,000 blocks are admitted besides single keys that the
// sample does not know, and no more than 100 unsigned unblocks and allowances. The
// rest waits for room and needs no confirmation.
func (q *Quarantine) Admit(now time.Time, d *detector.Detector, b edgeguard.Block, t blocklist.Trust) (changed bool, err error) {
	if !t.Signed || !operators(&b, t) {
		if err := q.weigh(now, d, b, t); err != nil {
			if isBlock(&b) && q.ask != nil {
				q.ask(b)
			}
			return false, err
		}
	}
	return q.list.Agree(b, t, now)
}

// weigh decides whether a record is held, and returns why if it is. A record that
// the list would refuse, or has newer, is left to the list.
func (q *Quarantine) weigh(now time.Time, d *detector.Detector, b edgeguard.Block, t blocklist.Trust) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	one := Held{Block: b, At: now, Trust: t}
	before, known := q.held[b.Prefix]
	// A greater record ends the held one, and so does the same record when it is signed.
	ended := known && (blocklist.Greater(b, before.Block) ||
		t.Signed && !before.Trust.Signed && !blocklist.Greater(before.Block, b))
	switch {
	case ended:
		q.drop(b.Prefix, &q.stats.Withdrawn)
	case known && sameKind(&b, &before.Block) && (before.Trust.Signed || !t.Signed):
		return heldError(&before)
	}
	news, err := q.list.Try(b, t, now)
	if err != nil || !news || q.judge(now, d, &one, ended) {
		return nil
	}
	q.hold(one)
	return heldError(&one)
}

// judge reports whether a record is admitted, and charges it. If it is not, judge
// sets its Why and Share. ends says that it ends a held record. The caller holds
// the lock.
func (q *Quarantine) judge(now time.Time, d *detector.Detector, one *Held, ends bool) (admitted bool) {
	which := paced(one)
	switch {
	case q.inForce(now, &one.Block):
		return true
	case one.Allow && !one.Lifted && !narrow(one.Prefix):
		one.Why = Allowance
		return false
	case one.Lifted && !one.Allow && wide(one.Prefix) && !ends && q.list.Of(now, one.Prefix) == nil:
		one.Why = Wide
		return false
	case which == others:
		if one.Why = Pace; !q.pace.room(now, others) {
			return false
		}
	case one.Trust.Forced && !one.Trust.Signed && wide(one.Prefix):
		one.Why, one.Share = Wide, q.recentSample(now, d).Share(one.Prefix, q.passes(now))
		return false
	case q.list.Covers(now, one.Prefix): // it would refuse nothing new
		return true
	default:
		if !q.judgeBlock(now, d, one) {
			return false
		}
	}
	q.pace.count(now, which)
	return true
}

// inForce reports whether a block of the prefix, or an allowance around it, is in force
// already for at least as long, so that the record changes its version only.
func (q *Quarantine) inForce(now time.Time, b *edgeguard.Block) bool {
	switch {
	case b.Lifted:
		return false
	case b.Allow:
		a, ok := q.list.Allowance(now, b.Prefix)
		return ok && !b.Until.After(a.Until)
	}
	known := q.list.Of(now, b.Prefix)
	return known != nil && !b.Until.After(known.Until)
}

// judgeBlock is judge for a block that would refuse something. The caller holds the
// lock.
func (q *Quarantine) judgeBlock(now time.Time, d *detector.Detector, one *Held) (admitted bool) {
	share := q.recentSample(now, d).Share(one.Prefix, q.passes(now))
	if (share > 0 || !single(one.Prefix)) && !q.pace.room(now, blocks) {
		one.Why = Pace // its share is not kept: it is weighed again
		return false
	}
	if q.limit >= 1 || (share == 0 || len(q.held) < q.most) && q.charge(now, one.Prefix, share) {
		return true
	}
	one.Why, one.Share = tooMuch, share
	return false
}

// hold records what waits, if there is room. The caller holds the lock.
func (q *Quarantine) hold(one Held) {
	if _, again := q.held[one.Prefix]; again || len(q.held) >= q.most {
		q.stats.NotRecorded++
		q.lacking = true
		return
	}
	q.held[one.Prefix] = one
	q.stats.Total++
	q.queue(&one)
}

// queue has a held record wait for its turn. The caller holds the lock.
func (q *Quarantine) queue(one *Held) {
	if one.Why != Pace {
		return
	}
	if which := paced(one); q.pace.wait(which, one.Prefix) > 2*q.most {
		q.pace.compact(which, q.waits)
	}
}

// waits returns the held record of a prefix if it waits for its turn in this queue.
func (q *Quarantine) waits(prefix netip.Prefix, which int) (one Held, ok bool) {
	one, ok = q.held[prefix]
	return one, ok && one.Why == Pace && paced(&one) == which
}

// Lacking reports whether a record found no room among the held ones since the last
// call, and there is room now: then the whole list has to be read again.
func (q *Quarantine) Lacking() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.lacking || len(q.held) >= q.most {
		return false
	}
	q.lacking = false
	return true
}

func heldError(one *Held) error {
	if one.Why == tooMuch {
		return fmt.Errorf("%s, %.0f %% of the requests: %w", one.Prefix, 100*one.Share, aggregator.ErrHeld)
	}
	return fmt.Errorf("%s, %s: %w", one.Prefix, one.Why, aggregator.ErrHeld)
}
