package crowdsec

import (
	"net/netip"
	"slices"
	"sync"
	"time"

	"edgeguard"
)

// What a node reports to a CrowdSec LAPI: the blocks that its rules made, as alerts with one
// decision each. An [AlertQueue] keeps those that wait. Nothing that a client wrote is in them but
// his address.

// mostKnown is how many blocks a queue knows to be reported. Of one that it has forgotten an
// extension is reported once more.
const mostKnown = 50_000

// AlertQueue is the blocks that wait to be reported. It is bounded: a block for which there is no room
// is dropped and counted. It is safe for concurrent use, and no method waits: decisions call it.
type AlertQueue struct {
	most int

	mu      sync.Mutex // guards all below
	waiting map[netip.Prefix]entry
	order   []place                    // of waiting, the oldest first; and of some that no longer wait
	last    uint64                     // the last place
	known   map[netip.Prefix]time.Time // until when the LAPI knows of a block, or soon will
	figures AlertFigures
}

type entry struct {
	block edgeguard.Block
	place uint64
}

type place struct {
	prefix netip.Prefix
	number uint64
}

// AlertFigures is what became of blocks.
type AlertFigures struct {
	Waiting int
	Sent    uint64 // accepted by the LAPI
	Dropped uint64 // there was no room
	Refused uint64 // refused by the LAPI
}

// NewAlertQueue returns a queue for at most so many blocks.
func NewAlertQueue(most int) *AlertQueue {
	return &AlertQueue{most: most, waiting: make(map[netip.Prefix]entry), known: make(map[netip.Prefix]time.Time)}
}

// Offer queues a block that was made or extended, and takes it back from the queue if it was
// lifted. An extended block is reported again when it lasts twice as long as the LAPI knows: a
// rule may extend one each second.
func (q *AlertQueue) Offer(b edgeguard.Block, now time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if b.Lifted || !b.Until.After(now) {
		delete(q.known, b.Prefix)
		delete(q.waiting, b.Prefix)
		return
	}
	if waits, has := q.waiting[b.Prefix]; has {
		waits.block = b
		q.waiting[b.Prefix] = waits
	} else {
		if known, has := q.known[b.Prefix]; has && b.Until.Sub(now)/2 < known.Sub(now) {
			return
		}
		if len(q.waiting) >= q.most {
			q.figures.Dropped++
			return
		}
		q.append(b)
	}
	q.know(b.Prefix, b.Until)
}

// append puts a block at the end.
func (q *AlertQueue) append(b edgeguard.Block) {
	if len(q.order) >= 2*q.most {
		q.order = slices.DeleteFunc(q.order, func(p place) bool { return q.waiting[p.prefix].place != p.number })
	}
	q.last++
	q.order = append(q.order, place{b.Prefix, q.last})
	q.waiting[b.Prefix] = entry{b, q.last}
}

func (q *AlertQueue) know(p netip.Prefix, until time.Time) {
	if _, has := q.known[p]; !has && len(q.known) >= mostKnown {
		for any := range q.known {
			delete(q.known, any)
			break
		}
	}
	q.known[p] = until
}

// TakeOldest removes the oldest blocks from the queue, at most so many, without those that have ended.
// They are to be passed to Sent, Refused or Return.
func (q *AlertQueue) TakeOldest(most int, now time.Time) []edgeguard.Block {
	q.mu.Lock()
	defer q.mu.Unlock()
	var all []edgeguard.Block
	for len(q.order) > 0 && len(all) < most {
		p := q.order[0]
		q.order = q.order[1:]
		one := q.waiting[p.prefix]
		if one.place != p.number {
			continue // lifted, and it may wait again
		}
		delete(q.waiting, p.prefix)
		if one.block.Until.After(now) {
			all = append(all, one.block)
		}
	}
	return all
}

// Return puts back what could not be sent, for as long as there is room.
func (q *AlertQueue) Return(all []edgeguard.Block) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, b := range all {
		_, waits := q.waiting[b.Prefix]
		_, lasts := q.known[b.Prefix]
		switch {
		case waits || !lasts: // replaced, or lifted, since it was taken
		case len(q.waiting) >= q.most:
			q.figures.Dropped++
			delete(q.known, b.Prefix) // the LAPI does not know it, and will not soon
		default:
			q.append(b)
		}
	}
}

// CountAccepted counts blocks that the LAPI has accepted.
func (q *AlertQueue) CountAccepted(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.figures.Sent += uint64(n)
}

// Refused counts blocks that the LAPI does not accept, and would not later.
func (q *AlertQueue) Refused(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.figures.Refused += uint64(n)
}

// Figures returns what became of blocks.
func (q *AlertQueue) Figures() AlertFigures {
	q.mu.Lock()
	defer q.mu.Unlock()
	f := q.figures
	f.Waiting = len(q.waiting)
	return f
}
