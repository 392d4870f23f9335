package quarantine

import (
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"edgeguard"
	"edgeguard/aggregator"
	"edgeguard/blocklist"
	"edgeguard/detector"
)

const (
	// DefaultConfirmShare is the part of the last five minutes' requests that
	// blocks may refuse without an operator's confirmation, unless the config
	// sets it.
	DefaultConfirmShare = 0.2
	// mostHeld bounds the held blocks, beside the list's own bound: 30 MB. A
	// block that does not fit is not in force either, and comes again with the
	// next full read of the list.
	mostHeld = 100_000
	// sampleAge is how old the sample may be that a block is weighed by: a list
	// of a hundred thousand blocks needs only one or two samples.
	sampleAge = time.Second
)

// Quarantine stands between the fleet's blocks and a node's list. The node's
// own decisions go to the list directly; a Quarantine is only notified of them.
// It is safe for concurrent use. Make one with [New].
type Quarantine struct {
	list *blocklist.List
	ask  func(edgeguard.Block)

	mu        sync.Mutex // guards the fields below; never held while the list is changed
	most      int
	limit     float64
	sample    *detector.Sample
	sampled   time.Time
	budget    budget
	exhausted bool // a share has not fitted into the budget since it was empty
	held      map[netip.Prefix]Held
	stats     Stats
}

// New returns a quarantine before a list. Pass every change of the list to
// [Quarantine.Changed]. ask is called with each held block of which this node
// has seen requests: what it counts of them should be pushed immediately, since
// the fleet's answer usually confirms the block. Nil disables it.
func New(list *blocklist.List, ask func(edgeguard.Block)) *Quarantine {
	return &Quarantine{list: list, ask: ask, most: mostHeld, limit: DefaultConfirmShare, held: make(map[netip.Prefix]Held), budget: newBudget()}
}

// SetLimit sets the share of requests over which blocks are held; it is above
// 0. At 1 no block is held, and those that were come with the next full read of
// the fleet's list.
func (q *Quarantine) SetLimit(share float64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.limit = share; share >= 1 {
		q.stats.Withdrawn += uint64(len(q.held))
		clear(q.held)
	}
}

// SetMost bounds the held blocks to a quarter of the list's maximum.
func (q *Quarantine) SetMost(blocks int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.most = min(mostHeld, blocks/4)
}

// Admit merges a block, an allowance or a tombstone of the fleet into the list
// as [blocklist.List.Agree] does, unless it must be held: then the error is [aggregator.ErrHeld].
//
// A block is held if it, and the fleet's blocks that were admitted in the last
// five minutes, would newly refuse more than the limit of these minutes'
// requests. A block that matches nothing in the sample is admitted, unless the
// budget has already rejected a block: many such blocks add up. Then it is held
// until five minutes pass with nothing charged, and needs no confirmation.
// Allowances, tombstones and forced blocks are never held. A held block stays
// held when it comes again.
func (q *Quarantine) Admit(now time.Time, d *detector.Detector, b edgeguard.Block, t blocklist.Trust) (changed bool, err error) {
	if !t.Forced && !b.Lifted && !b.Allow {
		if share, err := q.weigh(now, d, b, t); err != nil {
			if share > 0 && q.ask != nil {
				q.ask(b)
			}
			return false, err
		}
	}
	return q.list.Agree(b, t, now)
}

// weigh decides whether a block is held, and returns its share if it is. A
// block that the list would refuse, or has newer, is left to the list.
func (q *Quarantine) weigh(now time.Time, d *detector.Detector, b edgeguard.Block, t blocklist.Trust) (share float64, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if before, ok := q.held[b.Prefix]; ok {
		if !blocklist.Greater(b, before.Block) {
			return before.Share, heldError(&before)
		}
		q.drop(b.Prefix, &q.stats.Withdrawn)
	}
	if news, err := q.list.Try(b, now); err != nil || !news || q.limit >= 1 || q.list.Covers(now, b.Prefix) { // covered: it would refuse nothing new
		return 0, nil
	}
	share = q.recentSample(now, d).Share(b.Prefix, q.passes(now))
	full := len(q.held) >= q.most
	if (share == 0 || !full) && q.charge(now, b.Prefix, share) {
		return 0, nil
	}
	one := Held{Block: b, Share: share, At: now, Trust: t}
	if full {
		q.stats.NotRecorded++
		return share, heldError(&one)
	}
	q.held[b.Prefix] = one
	q.stats.Total++
	return share, heldError(&one)
}

// charge adds a share to the budget if it fits. The caller holds the lock.
func (q *Quarantine) charge(now time.Time, prefix netip.Prefix, share float64) (fits bool) {
	charged := q.budget.sum(now)
	if charged == 0 {
		q.exhausted = false
	}
	switch {
	case share == 0:
		return !q.exhausted
	case charged+share <= q.limit:
		q.budget.add(now, prefix, share)
		return true
	}
	// A share over the limit by itself says nothing about the budget.
	q.exhausted = q.exhausted || share <= q.limit
	return false
}

func heldError(one *Held) error {
	return fmt.Errorf("%s, %.0f %% of the requests: %w", one.Prefix, 100*one.Share, aggregator.ErrHeld)
}

// recentSample returns a sample that is new enough. The caller holds the lock.
func (q *Quarantine) recentSample(now time.Time, d *detector.Detector) *detector.Sample {
	if age := now.Sub(q.sampled); q.sample == nil || age >= sampleAge || age < 0 {
		q.sample, q.sampled = d.Sample(now), now
	}
	return q.sample
}

// passes returns a function that reports whether the list neither refuses nor
// exempts an address, so that a block would make a difference to it.
func (q *Quarantine) passes(now time.Time) func(netip.Addr) bool {
	return func(addr netip.Addr) bool {
		standing, _ := q.list.Find(now, addr)
		return standing == blocklist.None
	}
}

// drop removes a held block and counts why. The caller holds the lock.
func (q *Quarantine) drop(prefix netip.Prefix, why *uint64) {
	delete(q.held, prefix)
	*why++
}

// TooMuch reports whether a block of prefix alone would newly refuse more than
// the limit of the last five minutes' requests, and which share.
func (q *Quarantine) TooMuch(now time.Time, d *detector.Detector, prefix netip.Prefix) (share, limit float64, yes bool) {
	sample := d.Sample(now) // a new one: the operator has just looked
	q.mu.Lock()
	defer q.mu.Unlock()
	share = sample.Share(prefix, q.passes(now))
	return share, q.limit, share > q.limit
}

// Found is called when the fleet's totals, with this node's own counts, confirm
// that a prefix is rightly blocked. Its share is refunded, which makes room for
// others.
func (q *Quarantine) Found(prefix netip.Prefix) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.budget.refund(prefix)
}

// Changed is called with each change of the list. A block that is in force,
// made here or confirmed, releases the held one of its prefix, and a greater
// allowance or tombstone removes it. A released block is merged into the list:
// it refuses nothing new, and all nodes must keep the same record of one
// crossing.
func (q *Quarantine) Changed(now time.Time, b edgeguard.Block) {
	if one, confirmed := q.changed(b); confirmed {
		_, _ = q.list.Agree(one.Block, one.Trust, now) // an error means that the list has no use for it
	}
}

func (q *Quarantine) changed(b edgeguard.Block) (one Held, confirmed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if b.Lifted {
		q.budget.refund(b.Prefix)
	}
	one, ok := q.held[b.Prefix]
	switch {
	case !ok:
	case !b.Lifted && !b.Allow:
		q.drop(b.Prefix, &q.stats.ConfirmedByCounts)
		return one, true
	case blocklist.Greater(b, one.Block):
		q.drop(b.Prefix, &q.stats.Withdrawn)
	}
	return one, false
}

// All returns the held blocks, ordered by prefix.
func (q *Quarantine) All() []Held {
	q.mu.Lock()
	defer q.mu.Unlock()
	out := make([]Held, 0, len(q.held))
	for _, one := range q.held {
		out = append(out, one)
	}
	slices.SortFunc(out, func(a, b Held) int { return a.Prefix.Compare(b.Prefix) })
	return out
}

// Restore holds the blocks that [Quarantine.All] returned in another run,
// except expired ones and those over the bound.
func (q *Quarantine) Restore(now time.Time, held []Held) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, one := range held {
		if now.Before(one.Until) && len(q.held) < q.most {
			q.held[one.Prefix] = one
		}
	}
}

// Stats returns the counters.
func (q *Quarantine) Stats() Stats {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.stats
	s.Held = len(q.held)
	return s
}
