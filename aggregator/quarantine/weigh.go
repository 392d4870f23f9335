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
// [aggregator.ErrHeld]. A held record stays held when it comes again. A signed unblock is
// never held, nor is a block or an allowance that is in force for as long already.
//
// By width are held: unsigned blocks and allowances wider than /24 (IPv4) or /48 (IPv6);
// those with which all that is in force on others' word would be wider than a 256th of the
// address space, unsigned, or a sixteenth, signed; and an unsigned unblock of a wide prefix
// that ends nothing here, which would clear the counts of a whole network.
//
// By share is held a block that no operator signed, if it and the fleet's blocks that are
// in force on others' word would refuse more than the limit of the last five
// minutes' requests, or of the last thousand. A block that matches nothing in the sample is
// admitted, unless one that does found no room: many such blocks add up. Then it waits
// until that one is in force or gone, and needs no confirmation. While there were not even a
// hundred requests, unsigned networks wait for them, and unsigned keys come in at a
// hundred a minute.
//
// In a minute, no more than 20,000 blocks are admitted besides single keys that the
// sample does not know, and no more than 100 unsigned unblocks and allowances. The
// rest waits for room and needs no confirmation.
func (q *Quarantine) Admit(now time.Time, d *detector.Detector, b edgeguard.Block, t blocklist.Trust) (changed bool, err error) {
	q.admission.Lock()
	defer q.admission.Unlock()
	if err := q.weigh(now, d, b, t); err != nil {
		if isBlock(&b) && q.ask != nil {
			q.ask(b)
		}
		return false, err
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
		q.dropHeld(b.Prefix, &q.stats.Withdrawn)
	case known && sameKind(&b, &before.Block) && (before.Trust.Signed || !t.Signed):
		return heldError(&before)
	}
	news, err := q.list.WouldAgree(b, t, now)
	if err != nil || !news && !q.signsLater(&one) || q.judge(now, d, &one, ended) {
		return nil
	}
	q.hold(one)
	return heldError(&one)
}

// judge reports whether a record is admitted, and charges it. If it is not, judge
// sets its Why and Share. ends says that it ends a held record. The caller holds
// the lock.
func (q *Quarantine) judge(now time.Time, d *detector.Detector, one *Held, ends bool) (admitted bool) {
	signed := one.Trust.Signed
	switch {
	case q.inForce(now, one):
		return true
	case one.Lifted && signed:
		return true
	case one.Lifted && !one.Allow && isWide(one.Prefix) && !ends && q.list.BlockOf(now, one.Prefix) == nil:
		one.Why = Wide
		return false
	case !one.Lifted && q.tooWide(one):
		one.Why = Wide
		if isBlock(&one.Block) {
			one.Share = q.recentSample(now, d).Share(one.Prefix, q.refuses(now))
		}
		return false
	case signed && operators(&one.Block, one.Trust):
		return true
	case !isBlock(&one.Block):
		return q.paced(now, one, others)
	case q.covered(now, one):
		return true
	}
	return q.judgeShare(now, d, one)
}

// paced admits a record if its kind has room in this minute.
func (q *Quarantine) paced(now time.Time, one *Held, kind int) (admitted bool) {
	if !q.pace.hasRoom(now, kind) {
		one.Why, one.kind = Pace, kind
		return false
	}
	q.pace.count(now, kind)
	return true
}

// inForce reports whether what a record says is in force already for at least as long, so
// that the record changes its version only. Signed and unsigned are bounded apart: one
// does not become the other on the way.
func (q *Quarantine) inForce(now time.Time, one *Held) bool {
	b := &one.Block
	if b.Lifted {
		return false
	}
	known := q.list.BlockOf(now, b.Prefix)
	if b.Allow {
		known = nil
		if a, ok := q.list.Allowance(now, b.Prefix); ok && a.Prefix == b.Prefix {
			known = &a
		}
	}
	t := q.list.Trust(b.Prefix)
	return known != nil && !b.Until.After(known.Until) && (!t.Elsewhere || t.Signed == one.Trust.Signed)
}

// judgeShare is judge for a block that would refuse something. The caller holds the
// lock.
func (q *Quarantine) judgeShare(now time.Time, d *detector.Detector, one *Held) (admitted bool) {
	sample := q.recentSample(now, d)
	if !sample.Enough() && q.limit < 1 {
		q.budget.blind = true
		switch {
		case one.Trust.Signed:
			return single(one.Prefix) || q.paced(now, one, signedBlocks)
		case !single(one.Prefix):
			one.Why = Unseen
			return false
		}
		return !q.joined || q.paced(now, one, keys)
	}
	share := sample.Share(one.Prefix, q.refuses(now))
	bounded, kind := share > 0 || !single(one.Prefix), paceOf(one)
	if bounded && !q.pace.hasRoom(now, kind) {
		one.Why, one.kind = Pace, kind // its share is not kept: it is weighed again
		return false
	}
	share = max(share, one.Share) // what it had when it came
	if q.limit < 1 && (share > 0 && !q.roomFor(one) || !q.charge(one, share)) {
		one.Why, one.Share = tooMuch, share
		return false
	}
	q.pace.count(now, kind)
	return true
}

// signsLater reports whether a record is in force unsigned, so that with this signature it
// counts among the signed.
func (q *Quarantine) signsLater(one *Held) bool {
	t := q.list.Trust(one.Prefix)
	return one.Trust.Signed && t.Elsewhere && !t.Signed
}

// hold records what waits, if there is room. The caller holds the lock.
func (q *Quarantine) hold(one Held) {
	if _, again := q.held[one.Prefix]; again || !q.roomFor(&one) {
		q.stats.NotRecorded++
		q.lacking[one.source().Kind] = true
		return
	}
	q.held[one.Prefix] = one
	q.stats.Total++
	q.queue(&one)
}

// roomFor reports whether one more record could be held. The unsigned leave a quarter:
// whoever can only write to Redis could otherwise fill all of it, and what is signed and
// weighs something would be neither held nor in force. The caller holds the lock.
func (q *Quarantine) roomFor(one *Held) bool {
	if one.Trust.Signed {
		return len(q.held) < q.most
	}
	return len(q.held) < q.most-q.most/4
}

// queue has a held record wait for its turn. The caller holds the lock.
func (q *Quarantine) queue(one *Held) {
	if one.Why != Pace {
		return
	}
	if q.pace.enqueue(one.kind, one.Prefix) > 2*q.most {
		q.pace.compact(one.kind, q.waits)
	}
}

// waits returns the held record of a prefix if it waits for its turn in this queue.
func (q *Quarantine) waits(prefix netip.Prefix, which int) (one Held, ok bool) {
	one, ok = q.held[prefix]
	return one, ok && one.Why == Pace && one.kind == which
}

// Lacking reports whether a record found no room among the held ones since the last
// call, and there is room now: then the whole list has to be read again.
func (q *Quarantine) Lacking() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for kind := range q.lacking {
		if q.roomFor(&Held{Trust: blocklist.Trust{Signed: kind == blocklist.Signed}}) {
			clear(q.lacking)
			return true
		}
	}
	return false
}

func heldError(one *Held) error {
	if one.Why == tooMuch {
		return fmt.Errorf("%s, %.0f %% of the requests: %w", one.Prefix, 100*one.Share, aggregator.ErrHeld)
	}
	return fmt.Errorf("%s, %s: %w", one.Prefix, one.Why, aggregator.ErrHeld)
}
