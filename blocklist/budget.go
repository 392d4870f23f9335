package blocklist

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"sync/atomic"
	"time"

	"edgeguard"
)

// ErrFull is why an operator's block or allowance is refused: these are never
// evicted, and fill their part of the list's budget.
var ErrFull = errors.New("the list is full")

const (
	// A group is an IPv4 /16 or an IPv6 /48: each has 65,536 keys, as rules count
	// by default. Where an attacker has many /48 he has them in one /32, which
	// counts as its blocks divided by wideShare.
	groupV4, groupV6, groupWide = 16, 48, 32
	wideShare                   = 64
	// A group with less than this part of the budget counts as empty: two
	// neighbouring offenders prove nothing.
	leastShare = 256
	// mostLooks bounds how many blocks one eviction looks at: each that refused
	// something since the last look has to be put in its new place. It took a
	// request each to make them so.
	mostLooks = 4096
)

// seat is what a list keeps of a standing block beside the block. It stays when
// a longer or shorter block of the same prefix takes its place.
type seat struct {
	refused atomic.Uint32 // events, by readers
	last    atomic.Int64  // the last of them, or when the block came; as nanos gives it
	asked   atomic.Uint32 // of the refused: those whose client waited for the answer
	// What the logs of servers say became of others of the refused.
	turnedAway, served atomic.Uint32
	came               int64 // when the block came to this list

	// The writer's: the two as they were looked at last, and the seat's groups.
	entry       *entry
	seenRefused uint32
	places      [2]int32
	seenLast    int64
	groups      [2]*group // the second for IPv6 only; both nil for an operator's
}

// stale reports that the block was refused something since it was looked at.
func (s *seat) stale() bool { return s.refused.Load() != s.seenRefused }

func (s *seat) look() { s.seenRefused, s.seenLast = s.refused.Load(), s.last.Load() }

// before reports whether s is to go before t: fewer refusals, or for longer none.
func (s *seat) before(t *seat) bool {
	return cmp.Or(cmp.Compare(s.seenRefused, t.seenRefused), cmp.Compare(s.seenLast, t.seenLast)) < 0
}

// group is the blocks of one network, the one that is to go next first.
type group struct {
	prefix netip.Prefix
	seats  pile[*seat]
	place  int // in budget.groups
	// refused and last are those of the first seat as budget.groups has them:
	// while one group is put in its place, no other may change.
	refused uint32
	last    int64
	weight  int // of one block
	least   int // fullness
}

func (g *group) fullness() int { return max(g.least, g.weight*len(g.seats.items)) }

// budget bounds a list's blocks. Whose block goes is decided by network first:
// whoever makes a flood of blocks makes them from addresses that he has, and
// these lie together. By their ends it would be the attacker's choice, since a
// trap's block is longer than a rule's.
//
// The counts of refusals grow without the list's lock. The piles are in the
// order of the counts as they were seen, which are never more than the present
// ones: once the first is up to date, it is the first indeed.
type budget struct {
	most    int // blocks; 0 for any number
	least   int // fullness of a group
	known   map[netip.Prefix]*group
	groups  pile[*group] // the fullest first
	rest    int          // blocks in groups: all but the operators'
	byHand  int          // operators' blocks
	evicted uint64
	refused uint64 // operators' blocks and allowances that found no room
	// forgotten are tombstones and what has ended that room was lacking for.
	forgotten uint64
}

func newBudget(most int) budget {
	return budget{most: most, least: most / leastShare * wideShare, known: make(map[netip.Prefix]*group), groups: pile[*group]{before: fuller, placed: func(g *group, i int) { g.place = i }}}
}

func fuller(a, b *group) bool {
	if x, y := a.fullness(), b.fullness(); x != y {
		return x > y
	}
	return cmp.Or(cmp.Compare(a.refused, b.refused), cmp.Compare(a.last, b.last)) < 0
}

// order puts a group in its place after its seats changed.
func (b *budget) order(g *group) {
	first := g.seats.items[0]
	g.refused, g.last = first.seenRefused, first.seenLast
	b.groups.restoreOrder(g.place)
}

// byHand reports whether an operator made or forced this.
func (e *entry) byHand() bool { return e.trust.has(forced) || e.block.Rule == edgeguard.ManualRule }

// groupsOf returns the networks that a prefix counts in.
func groupsOf(p netip.Prefix) (narrow, wide netip.Prefix) {
	if p.Addr().Is4() {
		narrow, _ = p.Addr().Prefix(groupV4)
		return narrow, wide
	}
	narrow, _ = p.Addr().Prefix(groupV6)
	wide, _ = p.Addr().Prefix(groupWide)
	return narrow, wide
}

// enter gives a seat to a block that becomes active.
func (b *budget) enter(e *entry, now int64) {
	s := &seat{entry: e, came: now}
	s.last.Store(now)
	s.look()
	e.seat = s
	b.join(s)
}

// passSeat returns a block the seat of the one that it replaces.
func (b *budget) passSeat(old, e *entry) {
	s := old.seat
	e.seat = s
	if old.byHand() == e.byHand() {
		s.entry = e
		return
	}
	b.part(s)
	s.entry = e
	b.join(s)
}

// leave takes back enter.
func (b *budget) leave(e *entry) { b.part(e.seat) }

func (b *budget) join(s *seat) {
	switch {
	case s.entry.byHand():
		b.byHand++
		return
	case b.most > 0:
		narrow, wide := groupsOf(s.entry.block.Prefix)
		b.put(s, 0, narrow, wideShare)
		if wide.IsValid() {
			b.put(s, 1, wide, 1)
		}
	}
	b.rest++
}

func (b *budget) part(s *seat) {
	if s.entry.byHand() {
		b.byHand--
		return
	}
	b.rest--
	for i, g := range s.groups {
		if g == nil {
			continue
		}
		if s.groups[i] = nil; len(g.seats.items) == 1 {
			b.groups.remove(g.place)
			delete(b.known, g.prefix)
			continue
		}
		g.seats.remove(int(s.places[i]))
		b.order(g)
	}
}

// put puts a seat into the group of a network.
func (b *budget) put(s *seat, which int, prefix netip.Prefix, weight int) {
	g := b.known[prefix]
	if g == nil {
		g = &group{prefix: prefix, weight: weight, least: b.least, seats: pile[*seat]{before: (*seat).before, placed: placedIn[which]}}
		b.known[prefix] = g
		b.groups.push(g)
	}
	s.groups[which] = g
	g.seats.push(s)
	b.order(g)
}

// placedIn notes the place in the first or the second of a seat's groups.
var placedIn = [2]func(*seat, int){
	func(s *seat, i int) { s.places[0] = int32(i) },
	func(s *seat, i int) { s.places[1] = int32(i) },
}

// lacks reports whether so many more blocks of rules and operators need one to
// go. Operators' blocks leave the rules half of the budget, also where a smaller
// budget found more of them.
func (b *budget) lacks(rules, byHand int) bool {
	return b.most > 0 && b.rest+rules > b.most-min(b.byHand+byHand, b.most/2)
}

func (b *budget) isOver() bool { return b.lacks(0, 0) }

// next returns the block that has to go for another; there is one if it lacks
// room.
func (b *budget) next() *entry {
	var least *seat // of those looked at
	for range mostLooks {
		s := b.groups.items[0].seats.items[0]
		if !s.stale() {
			return s.entry
		}
		if s.look(); least == nil || s.before(least) {
			least = s
		}
		for i, g := range s.groups {
			if g != nil {
				g.seats.restoreOrder(int(s.places[i]))
				b.order(g)
			}
		}
	}
	return least.entry
}

// makeRoom evicts a block if e becomes active and needs the room; old is what is
// known of its prefix, possibly nil. Expired blocks go before active ones. It
// needs the lock, and a publish after it.
func (l *List) makeRoom(e, old *entry, now time.Time) {
	stood := old != nil && !old.remembered && !old.block.Allow
	rules, byHand := 1, 0
	if e.byHand() {
		rules, byHand = 0, 1
	}
	if e.block.Allow || stood || !l.budget.lacks(rules, byHand) {
		return
	}
	for range 2 { // it has to be done sooner or later anyway
		l.sweepOne(now, old)
	}
	l.evictOne(l.budget.lacks(rules, byHand))
}

// Crowded reports whether the list is full, has no record of this prefix, and
// would evict for it a block of another network that has no more blocks than its
// own. Merging such blocks from a longer list never ends: what was evicted comes
// back and evicts others.
func (l *List) Crowded(p netip.Prefix) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := &l.budget
	if !b.lacks(1, 0) || l.recordOf(p) != nil {
		return false
	}
	narrow, wide := groupsOf(p)
	own := max(b.least, b.fullnessWith(narrow, wideShare), b.fullnessWith(wide, 1))
	return len(b.groups.items) == 0 || own >= b.groups.items[0].fullness()
}

// fullnessWith is how full a network would be with one block more.
func (b *budget) fullnessWith(network netip.Prefix, weight int) int {
	if g := b.known[network]; g != nil {
		return weight * (len(g.seats.items) + 1)
	}
	return weight
}

// evictOne evicts the next block, if wanted, from this list only. It leaves no
// tombstone, so that the block can be made again. It needs the lock, and a publish after it.
func (l *List) evictOne(wanted bool) bool {
	if !wanted {
		return false
	}
	e := l.budget.next()
	l.notify.addEnded(e, EndedByRoom)
	l.remove(e)
	l.budget.evicted++
	l.notify.addEvicted(e.block)
	return true
}

// checkRoom refuses an operator's record that finds no room; held is what is
// known of its prefix, possibly nil. It needs the lock.
func (l *List) checkRoom(e, held *entry, now time.Time) error {
	b := &l.budget
	if b.most == 0 || e.block.Lifted || !e.byHand() && !e.block.Allow {
		return nil
	}
	stands := held != nil && !held.remembered
	switch {
	case e.block.Allow && (!stands || !held.block.Allow) && l.current.allowances.Size() >= b.most/4:
		b.refused++
		return fmt.Errorf("%s: %w: %d allowances, a quarter of max_blocks (%d)",
			e.block.Prefix, ErrFull, l.current.allowances.Size(), b.most)
	case !e.block.Allow && (!stands || held.block.Allow || !held.byHand()) && b.byHand >= b.most/2:
		b.refused++
		return fmt.Errorf("%s: %w: %d blocks by hand, half of max_blocks (%d)",
			e.block.Prefix, ErrFull, b.byHand, b.most)
	}
	return nil
}

// SetMost changes Config.Most. If there are more blocks, Sweep evicts them step by
// step.
func (l *List) SetMost(most int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.budget
	l.budget = newBudget(most)
	l.budget.evicted, l.budget.refused, l.budget.forgotten = before.evicted, before.refused, before.forgotten
	for _, e := range l.blocks.All() {
		e.seat.groups = [2]*group{}
		l.budget.join(e.seat)
	}
}

func (s *seat) noteRefusals(now int64, events uint32) (nth uint32) {
	if s.last.Load() < now {
		s.last.Store(now)
	}
	if s.refused.Load() < math.MaxUint32>>1 {
		return s.refused.Add(min(events, math.MaxUint32>>2))
	}
	return 0
}

// Became is what became of the events that a block refused, as far as it is known. Of
// the rest, neither a client waited for the answer, nor a log says what its server did.
type Became struct {
	// Asked are those whose client waited for this node's answer. Of the others, a log
	// says that their server turned them away, or served them in spite of the block.
	Asked, TurnedAway, Served uint32
}

// Became returns what became of the events that [List.Refusals] counts.
func (l *List) Became(prefix netip.Prefix) Became {
	e := l.current.index.exact(prefix)
	if e == nil {
		return Became{}
	}
	return e.seat.became()
}

func (s *seat) became() Became { return Became{s.asked.Load(), s.turnedAway.Load(), s.served.Load()} }

// addBelowMax adds to a counter that stays below the greatest number.
func addBelowMax(n *atomic.Uint32, by uint32) {
	if n.Load() < math.MaxUint32>>1 {
		n.Add(min(by, math.MaxUint32>>2))
	}
}

// Refusals returns how many events this node has refused because of the block of
// exactly this prefix, its extensions and the blocks that it replaced, and when
// it refused the last one, or accepted the block. It starts at 0 after a restart.
func (l *List) Refusals(prefix netip.Prefix) (events uint32, last time.Time, ok bool) {
	e := l.current.index.exact(prefix)
	if e == nil {
		return 0, time.Time{}, false
	}
	return e.seat.refused.Load(), time.Unix(0, e.seat.last.Load()).UTC(), true
}
