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
	// blocks may refuse without an operator's word, unless the config says
	// otherwise.
	DefaultConfirmShare = 0.2
	// mostHeld bounds the blocks that wait, beside the list's own bound: 30 MB.
	// What finds no room is not in force either, and comes again with the next
	// full read of the list.
	mostHeld = 100_000
	// sampleAge is how old the sample may be that a block is weighed by: a list
	// of a hundred thousand that comes at once is weighed by one or two.
	sampleAge = time.Second
)

// Quarantine stands between the fleet's blocks and a node's list: it keeps back those
// that would refuse too much of what the node has just let in, until an
// operator has said that they are meant, or the node finds the same by its own
// rules. Such decisions go to the list directly; a Quarantine only hears of them. It
// is safe for concurrent use. Make one with [New].
type Quarantine struct {
	list *blocklist.List
	ask  func(edgeguard.Block)
	most int

	mu      sync.Mutex // never held while the list is changed
	limit   float64
	sample  *detector.Sample
	sampled time.Time
	budget  budget
	full    bool // a share has found no room in the budget since it was empty
	held    map[netip.Prefix]Held
	stats   Stats
}

// New makes a hold before a list. Hand every change of the list to
// [Quarantine.Changed]. Ask is called with each block that has to wait for a word
// though this node has seen requests from it: what it counts of them is to be
// pushed at once, since the answer is mostly word enough. Nil: it is not asked.
func New(list *blocklist.List, ask func(edgeguard.Block)) *Quarantine {
	return &Quarantine{list: list, ask: ask, most: mostHeld, limit: DefaultConfirmShare, held: make(map[netip.Prefix]Held), budget: newBudget()}
}

// SetLimit sets the share of the requests from which on blocks wait, above 0.
// At 1 nothing waits, and what did comes with the next full read of the fleet's
// list.
func (q *Quarantine) SetLimit(share float64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.limit = share; share >= 1 {
		q.stats.Withdrawn += uint64(len(q.held))
		clear(q.held)
	}
}

// SetMost bounds the blocks that wait to a quarter of how many may stand.
func (q *Quarantine) SetMost(blocks int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.most = min(mostHeld, blocks/4)
}

// Admit takes a block, an allowance or a tombstone of the fleet into the list as
// [blocklist.List.Agree] does, by force if it was forced, unless it has to
// wait: then the error is [aggregator.ErrHeld]. A block waits if it, and the
// fleet's blocks that were taken in the last five minutes, would newly refuse
// more than the limit of these minutes' requests. Of a block that would refuse
// nobody in the sample it is known only that it would refuse little: it goes in,
// until one of the others has found no room, since thousands of them are much as
// well. Then they wait too, for no word, but for five minutes in which nothing
// was charged. Allowances, tombstones and what was forced never wait. A block that waits is still
// waiting when it comes again.
func (q *Quarantine) Admit(now time.Time, d *detector.Detector, b edgeguard.Block, forced bool) (changed bool, err error) {
	if !forced && !b.Lifted && !b.Allow {
		if share, err := q.weigh(now, d, b); err != nil {
			if share > 0 && q.ask != nil {
				q.ask(b)
			}
			return false, err
		}
	}
	return q.list.Agree(b, forced, now)
}

// weigh decides whether a block waits, and gives its share if it does. What the
// list would refuse, or knows better, is left to it.
func (q *Quarantine) weigh(now time.Time, d *detector.Detector, b edgeguard.Block) (share float64, err error) {
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
	share = q.look(now, d).Share(b.Prefix, q.lets(now))
	crammed := len(q.held) >= q.most
	if (share == 0 || !crammed) && q.charge(now, b.Prefix, share) {
		return 0, nil
	}
	one := Held{Block: b, Share: share, At: now}
	if crammed {
		q.stats.Unkept++
		return share, heldError(&one)
	}
	q.held[b.Prefix] = one
	q.stats.Came++
	return share, heldError(&one)
}

// charge takes a share into the budget, if it fits. It needs the lock.
func (q *Quarantine) charge(now time.Time, prefix netip.Prefix, share float64) (fits bool) {
	charged := q.budget.sum(now)
	if charged == 0 {
		q.full = false
	}
	switch {
	case share == 0:
		return !q.full
	case charged+share <= q.limit:
		q.budget.add(now, prefix, share)
		return true
	}
	// What is too much by itself says nothing of the room that is left.
	q.full = q.full || share <= q.limit
	return false
}

func heldError(one *Held) error {
	return fmt.Errorf("%s, %.0f %% of the requests: %w", one.Prefix, 100*one.Share, aggregator.ErrHeld)
}

// look gives a sample that is new enough. It needs the lock.
func (q *Quarantine) look(now time.Time, d *detector.Detector) *detector.Sample {
	if age := now.Sub(q.sampled); q.sample == nil || age >= sampleAge || age < 0 {
		q.sample, q.sampled = d.Sample(now), now
	}
	return q.sample
}

// lets tells of an address whether nothing refuses or spares it: whether a
// block would make a difference to it.
func (q *Quarantine) lets(now time.Time) func(netip.Addr) bool {
	return func(addr netip.Addr) bool {
		standing, _ := q.list.Find(now, addr)
		return standing == blocklist.None
	}
}

// drop forgets a held block and counts why. It needs the lock.
func (q *Quarantine) drop(prefix netip.Prefix, why *uint64) {
	delete(q.held, prefix)
	*why++
}

// TooMuch reports whether a block of prefix alone would newly refuse more than
// the limit of the last five minutes' requests, and which share.
func (q *Quarantine) TooMuch(now time.Time, d *detector.Detector, prefix netip.Prefix) (share, limit float64, yes bool) {
	sample := d.Sample(now) // not one of before the operator looked
	q.mu.Lock()
	defer q.mu.Unlock()
	share = sample.Share(prefix, q.lets(now))
	return share, q.limit, share > q.limit
}

// Found hears that this node's own pushes show that a prefix is rightly
// blocked. What it refuses is no longer on the word of others, and makes room
// for what is.
func (q *Quarantine) Found(prefix netip.Prefix) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.budget.refund(prefix)
}

// Changed hears of a change of the list: a block that stands now, made here or
// confirmed, ends the waiting of the fleet's of its prefix, and so does an
// allowance or a tombstone that is greater. What waited is then offered to the
// list: it refuses nobody newly, and of the records of one crossing all nodes
// have to keep the same.
func (q *Quarantine) Changed(now time.Time, b edgeguard.Block) {
	if one, proven := q.changed(b); proven {
		_, _ = q.list.Agree(one.Block, false, now) // what the list refuses by now is of no use
	}
}

func (q *Quarantine) changed(b edgeguard.Block) (one Held, proven bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if b.Lifted {
		q.budget.refund(b.Prefix)
	}
	one, ok := q.held[b.Prefix]
	switch {
	case !ok:
	case !b.Lifted && !b.Allow:
		q.drop(b.Prefix, &q.stats.Proven)
		return one, true
	case blocklist.Greater(b, one.Block):
		q.drop(b.Prefix, &q.stats.Withdrawn)
	}
	return one, false
}

// Sweep forgets what waits no more: whose end has come, and of whose prefix a
// block stands, by a change that came between weighing and waiting. And it puts
// in force what waited for room alone. It is to be called about once a second.
func (q *Quarantine) Sweep(now time.Time, d *detector.Detector) {
	for _, b := range q.sweep(now, d) {
		_, _ = q.list.Agree(b, false, now) // what the list refuses by now need not wait
	}
}

// sweep gives the blocks that there is room for, and those that were proven.
func (q *Quarantine) sweep(now time.Time, d *detector.Detector) (ready []edgeguard.Block) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for prefix, one := range q.held {
		if !now.Before(one.Until) {
			q.drop(prefix, &q.stats.Withdrawn)
			continue
		}
		if standing, b := q.list.Find(now, prefix.Addr()); standing == blocklist.Blocked && b.Prefix == prefix {
			q.drop(prefix, &q.stats.Proven)
			ready = append(ready, one.Block)
		}
	}
	if len(q.held) == 0 || q.budget.sum(now) > 0 {
		return ready
	}
	// With an empty budget, and not with the first room that there is: up to
	// the one that does not fit, each round lets in some for nothing.
	sample, lets := q.look(now, d), q.lets(now)
	for prefix, one := range q.held {
		if one.Share > 0 || !sample.Enough() {
			continue
		}
		if !q.charge(now, prefix, sample.Share(prefix, lets)) {
			break
		}
		q.drop(prefix, &q.stats.Released)
		ready = append(ready, one.Block)
	}
	return ready
}

// All gives the blocks that wait, in the order of their prefixes.
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

// Restore has blocks wait that [Quarantine.All] gave in another run, up to the bound
// and but for those that are over.
func (q *Quarantine) Restore(now time.Time, held []Held) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, one := range held {
		if now.Before(one.Until) && len(q.held) < q.most {
			q.held[one.Prefix] = one
		}
	}
}

// Stats gives what was held so far.
func (q *Quarantine) Stats() Stats {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.stats
	s.Held = len(q.held)
	return s
}
