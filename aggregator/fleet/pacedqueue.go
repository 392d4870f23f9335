package fleet

import (
	"cmp"
	"net/netip"
	"slices"
	"sync"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
)

// Which changes of a node's list go to the fleet next. What an operator changed goes first and
// immediately. Blocks of rules go at a bounded pace, those that refused most here first: a
// flood that one node blocks must not be a flood for Redis and for all other nodes. So do those of
// other programs, but for what an operator imports for one.
//
// Blocks of rules wait by their prefix alone, and the node's list is asked for
// the record at its turn. So what was evicted, replaced or has ended by then goes
// no more, and what waits takes no more memory than a part of the list.

const (
	// PublishPace is how many blocks of rules a node sends in a second. It may send as
	// many in one moment, if it sent none in the second before. One node under
	// attack then leaves room in what the others accept in a minute.
	PublishPace = 200
	// Operators is how many operators' changes may wait, as many as one request of theirs makes: a
	// full read sends the rest.
	Operators = 1 << 17
	// outboxSample is how many of the blocks that wait are compared each time: all of
	// them where fewer wait. Of more, those looked at longest ago.
	outboxSample = 4096
	// looks is how many blocks that wait are looked at for each one that is added,
	// so that those of which the list has no more are at most as many as the rest.
	looks = 2
)

// Change is a block or allowance of this node's list that the fleet may lack.
type Change struct {
	Block edgeguard.Block
	Trust blocklist.Trust
}

// ByRule reports whether a rule made this block, and not an operator.
func (c *Change) ByRule() bool {
	return !c.Trust.Forced && !c.Block.Lifted && !c.Block.Allow && c.Block.Rule != edgeguard.ManualRule
}

// IsPaced reports whether it goes at the pace of rules' blocks.
func (c *Change) IsPaced() bool { return c.ByRule() && c.Block.Batch == 0 }

// Matters reports whether the fleet needs the record at now: a block in force, or
// a tombstone that is still remembered.
func (c *Change) Matters(now time.Time, retention time.Duration) bool {
	if c.Block.Lifted {
		return now.Before(c.Block.Until.Add(retention))
	}
	return now.Before(c.Block.Until)
}

// Refused returns how many events the node has refused because of the block of
// this prefix, and false if the node's list has none.
type Refused func(netip.Prefix) (events uint32, ok bool)

// PacedQueue is what waits to be sent: changes to be published, or held blocks whose counts are
// to be pushed. Its methods are safe for concurrent use. Make
// one with [NewPacedQueue].
type PacedQueue struct {
	refused Refused

	mu        sync.Mutex    // guards the fields below
	turn      time.Duration // of one block
	operators []Change
	sending   bool                    // operators' changes are on their way
	queue     queue                   // of the blocks, in the order in which they are looked at
	waiting   map[netip.Prefix]uint64 // the number of the prefix's entry in the queue; others are void
	number    uint64
	credit    time.Duration // what was unused at last, a second at most
	last      time.Time
}

// NewPacedQueue returns an empty queue from which pace blocks of rules go in a second.
func NewPacedQueue(pace int, refused Refused) *PacedQueue {
	o := &PacedQueue{refused: refused, waiting: map[netip.Prefix]uint64{}}
	o.SetPace(pace)
	return o
}

// SetPace has from now on pace blocks of rules go in a second, or one.
func (o *PacedQueue) SetPace(pace int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.turn = time.Second / time.Duration(max(1, pace))
}

// Add adds a change. It returns false if it found no room: an operator's change,
// which a full read of the list then sends. Blocks of rules always find room.
func (o *PacedQueue) Add(c Change) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !c.IsPaced() {
		o.drop(c.Block.Prefix)
		if len(o.operators) >= Operators {
			return false
		}
		o.operators = append(o.operators, c)
		return true
	}
	if _, ok := o.waiting[c.Block.Prefix]; !ok {
		o.tidy()
		o.number++
		o.waiting[c.Block.Prefix] = o.number
		o.queue.push(entry{c.Block.Prefix, o.number})
	}
	return true
}

// tidy looks at some blocks that wait, and drops those that the list has no more.
// It needs the lock.
func (o *PacedQueue) tidy() {
	for i := 0; i < looks && o.queue.len() > 0; i++ {
		e := o.queue.pop()
		if !o.valid(e) {
			continue
		}
		if _, ok := o.refused(e.prefix); ok {
			o.queue.push(e)
		} else {
			o.drop(e.prefix)
		}
	}
}

// valid reports whether an entry's prefix waits, and not by a later entry. It
// needs the lock.
func (o *PacedQueue) valid(e entry) bool { return o.waiting[e.prefix] == e.number }

// DropBlock drops a prefix's block: the fleet has it.
func (o *PacedQueue) DropBlock(p netip.Prefix) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.drop(p)
}

func (o *PacedQueue) drop(p netip.Prefix) {
	delete(o.waiting, p)
	if len(o.waiting) == 0 { // the memory of a flood goes
		o.waiting, o.queue = map[netip.Prefix]uint64{}, queue{}
	}
}

// Operators returns and removes the operators' changes, in their order. [PacedQueue.OperatorsSent]
// says that they were sent.
func (o *PacedQueue) Operators() []Change {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := o.operators
	o.operators, o.sending = nil, o.sending || len(all) > 0
	return all
}

// OperatorsSent says that what [PacedQueue.Operators] returned was sent.
func (o *PacedQueue) OperatorsSent() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sending = false
}

// Unsent reports whether an operator's change waits, or is on its way.
func (o *PacedQueue) Unsent() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.sending || len(o.operators) > 0
}

// TakeNext returns and removes the blocks that go at now: at most most, and no more
// than the pace allows, those that refused most first.
func (o *PacedQueue) TakeNext(now time.Time, most int) []netip.Prefix {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.credit = min(time.Second, o.credit+min(time.Second, max(0, now.Sub(o.last))))
	o.last = now
	some := o.look(min(most, int(o.credit/o.turn)))
	chosen := make([]netip.Prefix, 0, len(some))
	for _, c := range some {
		chosen = append(chosen, c.prefix)
		o.drop(c.prefix)
	}
	o.credit -= time.Duration(len(chosen)) * o.turn
	return chosen
}

// candidate is a block that may be next.
type candidate struct {
	entry
	refused uint32
}

// look returns the most blocks of a sample that refused most, and puts the rest
// of the sample at the end of the queue. It needs the lock.
func (o *PacedQueue) look(most int) []candidate {
	if most <= 0 {
		return nil
	}
	top := make([]candidate, 0, most+1)
	for looked, left := 0, o.queue.len(); min(left, o.queue.len()) > 0 && looked < outboxSample; left-- {
		e := o.queue.pop()
		if !o.valid(e) {
			continue
		}
		looked++
		refused, ok := o.refused(e.prefix)
		if !ok {
			o.drop(e.prefix)
			continue
		}
		// Sorting the whole sample took a third of a turn.
		at, _ := slices.BinarySearchFunc(top, refused, func(c candidate, refused uint32) int {
			return cmp.Or(cmp.Compare(refused, c.refused), -1) // of equal ones the earlier goes first
		})
		if at == most {
			o.queue.push(e)
			continue
		}
		if top = slices.Insert(top, at, candidate{e, refused}); len(top) > most {
			o.queue.push(top[most].entry)
			top = top[:most]
		}
	}
	return top
}

// Return gives back the turns of n blocks that [PacedQueue.TakeNext] returned and that
// were not sent, since the fleet had them by then.
func (o *PacedQueue) Return(n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.credit = min(time.Second, o.credit+time.Duration(n)*o.turn)
}

// Waits reports whether a prefix's block waits for its turn.
func (o *PacedQueue) Waits(p netip.Prefix) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, ok := o.waiting[p]
	return ok
}

// Len returns how many changes wait.
func (o *PacedQueue) Len() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.operators) + len(o.waiting)
}
