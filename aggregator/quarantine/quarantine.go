package quarantine

import (
	"net/netip"
	"slices"
	"sync"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/detector"
)

const (
	// DefaultConfirmShare is the part of the last five minutes' requests that
	// blocks of other nodes may refuse without an operator's confirmation, unless the
	// config sets it.
	DefaultConfirmShare = 0.2
	// mostHeld bounds the held records, beside the list's own bound: 30 MB. One
	// that does not fit is not in force either, and comes again with the next full
	// read of the list: see Lacking.
	mostHeld = 100_000
	// sampleAge is how old the sample may be that a block is weighed by: a list
	// of a hundred thousand blocks needs only one or two samples.
	sampleAge = time.Second
)

// Quarantine decides which of the fleet's records reach a node's list. The node's
// own decisions go to the list directly; a Quarantine is only notified of them.
// It is safe for concurrent use. Make one with [New].
type Quarantine struct {
	list *blocklist.List
	ask  func(edgeguard.Block)
	// admission is held from the judgement of a record until it is in the list. Two that
	// each fit could otherwise be too wide together.
	admission sync.Mutex // guards the list against another admission

	mu      sync.Mutex // guards the fields below; never held while the list is changed
	most    int
	limit   float64
	sample  *detector.Sample
	sampled time.Time
	budget  budget
	pace    pace
	joined  bool                     // the fleet's list was read in full
	lacking map[blocklist.Whose]bool // a record of these found no room among the held ones
	held    map[netip.Prefix]Held
	stats   Stats
}

// New returns a quarantine before a list. Pass every change of the list to
// [Quarantine.Changed]. ask is called with each block that is held, also when it
// comes again: if this node has counts of it, they should be pushed soon, since the
// fleet's answer usually confirms the block. The sample cannot say whether it has: of
// few requests it mostly knows nothing. Nil disables it.
func New(list *blocklist.List, ask func(edgeguard.Block)) *Quarantine {
	return &Quarantine{list: list, ask: ask, most: mostHeld, limit: DefaultConfirmShare, held: make(map[netip.Prefix]Held), lacking: make(map[blocklist.Whose]bool), budget: newBudget()}
}

// SetLimit sets the share of requests over which blocks are held; it is above
// 0. At 1 no block is held for its share, and those that were come with the next
// full read of the fleet's list.
func (q *Quarantine) SetLimit(share float64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.limit = share; share < 1 {
		return
	}
	for prefix, one := range q.held {
		if one.Why == tooMuch {
			q.dropHeld(prefix, &q.stats.Withdrawn)
		}
	}
}

// SetMost bounds the held blocks to a quarter of the list's maximum.
func (q *Quarantine) SetMost(blocks int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.most = min(mostHeld, blocks/4)
}

// Joined is called when the fleet's list was read in full. Until then single keys are not
// paced: a node that has just started, and has seen no requests, needs the whole list.
func (q *Quarantine) Joined() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.joined = true
}

// recentSample returns a sample that is new enough. The caller holds the lock.
func (q *Quarantine) recentSample(now time.Time, d *detector.Detector) *detector.Sample {
	if age := now.Sub(q.sampled); q.sample == nil || age >= sampleAge || age < 0 {
		q.sample, q.sampled = d.LongSample(now), now
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

// dropHeld removes a held block and counts why. The caller holds the lock.
func (q *Quarantine) dropHeld(prefix netip.Prefix, why *uint64) {
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

// RefusedShare returns which share of the last five minutes' requests a block of prefix would
// newly refuse, by a sample that is at most a second old: for many prefixes.
func (q *Quarantine) RefusedShare(now time.Time, d *detector.Detector, prefix netip.Prefix) (share, limit float64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if sample := q.recentSample(now, d); sample.Recent() {
		share = sample.Share(prefix, q.passes(now))
	}
	return share, q.limit
}

// Release is called when what the fleet's nodes counted proves a key over its limit, of
// which another node's block may wait here. It puts that block in force, as the record that
// the fleet has. A block of this node's own would end later and replace it on all nodes:
// of fifty that prove a key one after the other, each would do so.
func (q *Quarantine) Release(now time.Time, prefix netip.Prefix) {
	q.admission.Lock()
	defer q.admission.Unlock()
	one, ok := q.takeFitting(prefix, func(one *Held) bool { return isBlock(&one.Block) && one.Why != Wide })
	if !ok {
		return
	}
	q.mu.Lock()
	q.stats.ConfirmedByCounts++
	q.mu.Unlock()
	_, _ = q.list.Agree(one.Block, one.Trust, now) // an error means that the list has no use for it
}

// Found is called when what the fleet's nodes counted confirms that a prefix is
// rightly blocked. Its share is refunded, which makes room for others. It reports whether
// the block was in force on others' word until now.
func (q *Quarantine) Found(now time.Time, prefix netip.Prefix) bool {
	q.mu.Lock()
	q.budget.refund(prefix)
	q.mu.Unlock()
	return q.list.Prove(prefix, now)
}

// ChargedShare returns the share of the requests that the block of exactly this prefix is
// charged with; 0 for none.
func (q *Quarantine) ChargedShare(prefix netip.Prefix) float64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.budget.charges[prefix].share
}

// Changed is called with each change of the list. A block that is in force,
// made here or confirmed, releases the held block of its prefix. Any other record
// removes a held one that is not greater. A released block is merged into the list:
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
	case isBlock(&b) && isBlock(&one.Block) && q.confirms(&b, &one):
		q.dropHeld(b.Prefix, &q.stats.ConfirmedByCounts)
		return one, true
	case !blocklist.Greater(one.Block, b):
		q.dropHeld(b.Prefix, &q.stats.Withdrawn)
	}
	return one, false
}

// HeldBlock returns the held record of exactly this prefix.
func (q *Quarantine) HeldBlock(prefix netip.Prefix) (b edgeguard.Block, held bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	one, held := q.held[prefix]
	return one.Block, held
}

// HeldRecords returns the held records, ordered by prefix.
func (q *Quarantine) HeldRecords() []Held {
	q.mu.Lock()
	defer q.mu.Unlock()
	out := make([]Held, 0, len(q.held))
	for _, one := range q.held {
		out = append(out, one)
	}
	slices.SortFunc(out, func(a, b Held) int { return a.Prefix.Compare(b.Prefix) })
	return out
}

// Restore holds the records that [Quarantine.HeldRecords] returned in another run,
// except expired ones and those over the bound, and charges what [Quarantine.ChargedShare]
// returned of those in force. The Why of the held ones is found again. A block that
// waited for room is then one that waits for the budget: it is weighed before it is
// admitted, as soon as there is a sample. Where something was held, single keys are paced
// as if the list had been read: what found no room among the held ones would else be in
// force after a restart.
func (q *Quarantine) Restore(now time.Time, held []Held, charged map[netip.Prefix]float64) {
	held = slices.SortedFunc(slices.Values(held), func(a, b Held) int { return a.At.Compare(b.At) })
	q.mu.Lock()
	defer q.mu.Unlock()
	q.joined = q.joined || len(held) > 0
	for prefix, share := range charged {
		q.budget.charge(prefix, share, q.list.Trust(prefix).Signed)
	}
	for _, one := range held {
		if one.Why = whyHeld(&one); now.Before(one.Until) && q.roomFor(&one) {
			q.held[one.Prefix] = one
			q.queue(&one)
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
