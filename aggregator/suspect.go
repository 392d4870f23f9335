package aggregator

import (
	"cmp"
	"encoding/binary"
	"net/netip"
	"sync"
	"sync/atomic"

	"edgeguard"
	"edgeguard/shard"
)

// suspectID is a key as this node names it: without a pointer, so that the
// garbage collector does not scan a million of them.
type suspectID struct {
	hi, lo, with uint64 // the masked address, IPv4 in the upper half of hi
	meter        uint16 // index
	bits         uint8
	v6           bool
}

func newSuspectID(meter int, p netip.Prefix, with uint64) suspectID {
	id := suspectID{with: with, meter: uint16(meter), bits: uint8(p.Bits())}
	if addr := p.Addr(); addr.Is4() {
		a := addr.As4()
		id.hi = uint64(binary.BigEndian.Uint32(a[:])) << 32
	} else {
		a := addr.As16()
		id.hi, id.lo, id.v6 = binary.BigEndian.Uint64(a[:]), binary.BigEndian.Uint64(a[8:]), true
	}
	return id
}

// sortsBefore orders the keys of a node, for a choice that must not depend on the
// order of a map.
func (id suspectID) sortsBefore(other suspectID) bool {
	return cmp.Or(cmp.Compare(id.hi, other.hi), cmp.Compare(id.lo, other.lo), cmp.Compare(id.with, other.with),
		cmp.Compare(id.meter, other.meter), cmp.Compare(id.bits, other.bits)) < 0
}

func (id suspectID) prefix() netip.Prefix {
	var a [16]byte
	binary.BigEndian.PutUint64(a[:], id.hi)
	binary.BigEndian.PutUint64(a[8:], id.lo)
	if id.v6 {
		return netip.PrefixFrom(netip.AddrFrom16(a), int(id.bits))
	}
	return netip.PrefixFrom(netip.AddrFrom4([4]byte(a[:4])), int(id.bits))
}

func (id suspectID) entry() shard.Entry {
	return shard.Entry{Key: edgeguard.Key{Prefix: id.prefix()}, With: id.with}
}

// suspect is what is kept of one key beside its ring. Slots are local.
type suspect struct {
	acked         uint32 // head of the newest stored push; 0: push all slots
	clearedBefore uint32 // slots below it were forgotten by an unblock
	rest, restAt  uint32 // what the other nodes had in the window that ends at restAt
	proven        uint32 // how much of it a split proved in the window that ends at provenAt
	provenAt      uint32
	asked         uint32 // the unix second, local, when the split was last read
	watchedUntil  uint32 // slot at which watching ends
	watchSent     uint32 // slot in which the fleet was last asked to watch it, by whichever node
	sent          uint32 // number of the newest push
	rank          uint32 // about its count when last looked at: by it keys compete for room
	base          base   // what is known to be in Redis
	dirty         bool   // counted since the last Collect
	due           bool   // not to be held back
	waiting       bool   // pushed, and not answered
	hurried       bool   // among the urgent keys since its newest push
	listed        bool   // in the list that Collect visits
	told          bool   // the fleet was asked when the total crossed the limit, over which it still is
	compared      bool   // an answer since the last visit showed that Redis stores all of it
	refuted       uint8  // how often in a row the split proved too little
}

// suspects is one of the parts into which a node's suspects are split, so that
// requests do not wait for each other.
type suspects struct {
	mu    sync.Mutex // guards all fields
	known map[suspectID]suspect
	// list holds the dirty and the waiting, and some that no longer are. stale
	// says that some were evicted, and may be in it twice.
	list  []suspectID
	stale bool
	// remainders are of keys over the limit of a rule that acts at each event.
	remainders map[suspectID]*remainder
	_          [64 - 56]byte // fills a cache line
}

// markUrgent records that there is something to push, and that it cannot wait. The
// caller holds the lock and stores s.
func (p *suspects) markUrgent(id suspectID, s *suspect) {
	s.dirty, s.due = true, true
	p.enlist(id, s)
}

// noteSent records that a push of the current counts is being made. s keeps the base of
// the push before it. The caller holds the lock.
func (p *suspects) noteSent(id suspectID, s *suspect, sent *atomic.Uint32) {
	p.enlist(id, s)
	s.dirty, s.due, s.hurried, s.waiting, s.sent = false, false, false, true, sent.Add(1)
	unanswered := *s
	unanswered.base = base{}
	p.known[id] = unanswered
}

func (p *suspects) enlist(id suspectID, s *suspect) {
	if !s.listed {
		s.listed = true
		p.list = append(p.list, id)
	}
}
