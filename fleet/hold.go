package fleet

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

// Hold stands between the fleet's blocks and a node's list: it keeps back those
// that would refuse too much of what the node has just let in, until an
// operator has said that they are meant, or the node finds the same by its own
// rules. Such decisions go to the list directly; a Hold only hears of them. It
// is safe for concurrent use. Make one with [NewHold].
type Hold struct {
	list *blocklist.List
	ask  func(edgeguard.Block)
	most int

	mu      sync.Mutex // never held while the list is changed
	limit   float64
	sample  *detector.Sample
	sampled time.Time
	account account
	full    bool // a share has found no room in the account since it was empty
	held    map[netip.Prefix]Held
	stats   HoldStats
}

// NewHold makes a hold before a list. Hand every change of the list to
// [Hold.Changed]. Ask is called with each block that has to wait for a word
// though this node has seen requests from it: what it counts of them is to be
// pushed at once, since the answer is mostly word enough. Nil: it is not asked.
func NewHold(list *blocklist.List, ask func(edgeguard.Block)) *Hold {
	return &Hold{list: list, ask: ask, most: mostHeld, limit: DefaultConfirmShare, held: make(map[netip.Prefix]Held), account: newAccount()}
}

// SetLimit sets the share of the requests from which on blocks wait, above 0.
// At 1 nothing waits, and what did comes with the next full read of the fleet's
// list.
func (h *Hold) SetLimit(share float64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.limit = share; share >= 1 {
		h.stats.Withdrawn += uint64(len(h.held))
		clear(h.held)
	}
}

// SetMost bounds the blocks that wait to a quarter of how many may stand.
func (h *Hold) SetMost(blocks int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.most = min(mostHeld, blocks/4)
}

// Merge takes a block, an allowance or a tombstone of the fleet into the list as
// [blocklist.List.Agree] does, by force if it was forced, unless it has to
// wait: then the error is [aggregator.ErrHeld]. A block waits if it, and the
// fleet's blocks that were taken in the last five minutes, would newly refuse
// more than the limit of these minutes' requests. Of a block that would refuse
// nobody in the sample it is known only that it would refuse little: it goes in,
// until one of the others has found no room, since thousands of them are much as
// well. Then they wait too, for no word, but for five minutes in which nothing
// was charged. Allowances, tombstones and what was forced never wait. A block that waits is still
// waiting when it comes again.
func (h *Hold) Merge(now time.Time, d *detector.Detector, b edgeguard.Block, forced bool) (changed bool, err error) {
	if !forced && !b.Lifted && !b.Allow {
		if share, err := h.weigh(now, d, b); err != nil {
			if share > 0 && h.ask != nil {
				h.ask(b)
			}
			return false, err
		}
	}
	return h.list.Agree(b, forced, now)
}

// weigh decides whether a block waits, and gives its share if it does. What the
// list would refuse, or knows better, is left to it.
func (h *Hold) weigh(now time.Time, d *detector.Detector, b edgeguard.Block) (share float64, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if before, ok := h.held[b.Prefix]; ok {
		if !blocklist.Greater(b, before.Block) {
			return before.Share, heldError(&before)
		}
		h.drop(b.Prefix, &h.stats.Withdrawn)
	}
	if news, err := h.list.Try(b, now); err != nil || !news || h.limit >= 1 || h.stands(now, b.Prefix) {
		return 0, nil
	}
	share = h.look(now, d).Share(b.Prefix, h.lets(now))
	crammed := len(h.held) >= h.most
	if (share == 0 || !crammed) && h.charge(now, b.Prefix, share) {
		return 0, nil
	}
	one := Held{Block: b, Share: share, At: now}
	if crammed {
		h.stats.Unkept++
		return share, heldError(&one)
	}
	h.held[b.Prefix] = one
	h.stats.Came++
	return share, heldError(&one)
}

// charge takes a share into the account, if it fits. It needs the lock.
func (h *Hold) charge(now time.Time, prefix netip.Prefix, share float64) (fits bool) {
	charged := h.account.sum(now)
	if charged == 0 {
		h.full = false
	}
	switch {
	case share == 0:
		return !h.full
	case charged+share <= h.limit:
		h.account.add(now, prefix, share)
		return true
	}
	// What is too much by itself says nothing of the room that is left.
	h.full = h.full || share <= h.limit
	return false
}

func heldError(one *Held) error {
	return fmt.Errorf("%s, %.0f %% of the requests: %w", one.Prefix, 100*one.Share, aggregator.ErrHeld)
}

// look gives a sample that is new enough. It needs the lock.
func (h *Hold) look(now time.Time, d *detector.Detector) *detector.Sample {
	if age := now.Sub(h.sampled); h.sample == nil || age >= sampleAge || age < 0 {
		h.sample, h.sampled = d.Sample(now), now
	}
	return h.sample
}

// lets tells of an address whether nothing refuses or spares it: whether a
// block would make a difference to it.
func (h *Hold) lets(now time.Time) func(netip.Addr) bool {
	return func(addr netip.Addr) bool {
		standing, _ := h.list.Find(now, addr)
		return standing == blocklist.None
	}
}

// stands reports whether a block of all of prefix stands, so that another
// refuses nobody newly.
func (h *Hold) stands(now time.Time, prefix netip.Prefix) bool {
	standing, b := h.list.Find(now, prefix.Addr())
	return standing == blocklist.Blocked && b.Prefix.Bits() <= prefix.Bits()
}

// drop forgets a held block and counts why. It needs the lock.
func (h *Hold) drop(prefix netip.Prefix, why *uint64) {
	delete(h.held, prefix)
	*why++
}

// TooMuch reports whether a block of prefix alone would newly refuse more than
// the limit of the last five minutes' requests, and which share.
func (h *Hold) TooMuch(now time.Time, d *detector.Detector, prefix netip.Prefix) (share, limit float64, yes bool) {
	sample := d.Sample(now) // not one of before the operator looked
	h.mu.Lock()
	defer h.mu.Unlock()
	share = sample.Share(prefix, h.lets(now))
	return share, h.limit, share > h.limit
}

// Found hears that this node's own pushes show that a prefix is rightly
// blocked. What it refuses is no longer on the word of others, and makes room
// for what is.
func (h *Hold) Found(prefix netip.Prefix) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.account.refund(prefix)
}

// Changed hears of a change of the list: a block that stands now, made here or
// confirmed, ends the waiting of the fleet's of its prefix, and so does an
// allowance or a tombstone that is greater. What waited is then offered to the
// list: it refuses nobody newly, and of the records of one crossing all nodes
// have to keep the same.
func (h *Hold) Changed(now time.Time, b edgeguard.Block) {
	if one, proven := h.changed(b); proven {
		_, _ = h.list.Agree(one.Block, false, now) // what the list refuses by now is of no use
	}
}

func (h *Hold) changed(b edgeguard.Block) (one Held, proven bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if b.Lifted {
		h.account.refund(b.Prefix)
	}
	one, ok := h.held[b.Prefix]
	switch {
	case !ok:
	case !b.Lifted && !b.Allow:
		h.drop(b.Prefix, &h.stats.Proven)
		return one, true
	case blocklist.Greater(b, one.Block):
		h.drop(b.Prefix, &h.stats.Withdrawn)
	}
	return one, false
}

// Sweep forgets what waits no more: whose end has come, and of whose prefix a
// block stands, by a change that came between weighing and waiting. And it puts
// in force what waited for room alone. It is to be called about once a second.
func (h *Hold) Sweep(now time.Time, d *detector.Detector) {
	for _, b := range h.sweep(now, d) {
		_, _ = h.list.Agree(b, false, now) // what the list refuses by now need not wait
	}
}

// sweep gives the blocks that there is room for, and those that were proven.
func (h *Hold) sweep(now time.Time, d *detector.Detector) (ready []edgeguard.Block) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for prefix, one := range h.held {
		if !now.Before(one.Until) {
			h.drop(prefix, &h.stats.Withdrawn)
			continue
		}
		if standing, b := h.list.Find(now, prefix.Addr()); standing == blocklist.Blocked && b.Prefix == prefix {
			h.drop(prefix, &h.stats.Proven)
			ready = append(ready, one.Block)
		}
	}
	if len(h.held) == 0 || h.account.sum(now) > 0 {
		return ready
	}
	// With an empty account, and not with the first room that there is: up to
	// the one that does not fit, each round lets in some for nothing.
	sample, lets := h.look(now, d), h.lets(now)
	for prefix, one := range h.held {
		if one.Share > 0 || !sample.Enough() {
			continue
		}
		if !h.charge(now, prefix, sample.Share(prefix, lets)) {
			break
		}
		h.drop(prefix, &h.stats.Released)
		ready = append(ready, one.Block)
	}
	return ready
}

// All gives the blocks that wait, in the order of their prefixes.
func (h *Hold) All() []Held {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make([]Held, 0, len(h.held))
	for _, one := range h.held {
		out = append(out, one)
	}
	slices.SortFunc(out, func(a, b Held) int { return a.Prefix.Compare(b.Prefix) })
	return out
}

// Restore has blocks wait that [Hold.All] gave in another run, up to the bound
// and but for those that are over.
func (h *Hold) Restore(now time.Time, held []Held) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, one := range held {
		if now.Before(one.Until) && len(h.held) < h.most {
			h.held[one.Prefix] = one
		}
	}
}

// Stats gives what was held so far.
func (h *Hold) Stats() HoldStats {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.stats
	s.Held = len(h.held)
	return s
}
