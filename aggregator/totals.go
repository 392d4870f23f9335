package aggregator

import (
	"hash/maphash"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"

	"edgeguard/ring"
	"edgeguard/shard"
)

// parts is how many locks the suspects are split over.
const parts = 64

// Totals is one node's part in the fleet. It is safe for concurrent use. Make
// one with [New].
type Totals struct {
	config Config
	meters []meter
	index  map[uint64]int // meters by fingerprint
	seeds  [3]uint64

	suspects   [parts]suspects
	size       atomic.Int64 // of all parts
	cleared    cleared
	emptied    cleared // the slots up to which the detector forgot counts
	reconciler reconciler
	urgent     urgent
	rejoined   atomic.Bool // since the last Collect
	leaving    atomic.Bool // nothing is held back
	alive      aliveNodes
	sharedBy   atomic.Int64 // the greatest number of nodes of the longest window
	sent       atomic.Uint32
	scan       atomic.Bool  // keys may have become suspects without an event
	offset     atomic.Int64 // epoch - local time, in seconds

	watching sync.Mutex // guards additions to watched, and its replacement; taken before any part's lock
	watched  atomic.Pointer[watchFilter]

	partial, fullWanted atomic.Uint64 // since the last detectLoss: answered pushes that were not full, and those answered with StatusSendFull

	pushed, reconciled, answered, heldBack, displaced, fullRequested, refused, watchesSent, watchesReceived atomic.Uint64
}

// New returns the Totals of a config. Meters that Previous has keep their
// suspects.
func New(c Config) *Totals {
	c.setDefaults()
	n := &Totals{config: c, meters: make([]meter, len(c.Meters)), index: make(map[uint64]int)}
	n.offset.Store(int64(c.Offset / time.Second))
	n.watched.Store(new(watchFilter))
	n.drawSeeds()
	for i := range n.suspects {
		n.suspects[i].known = make(map[suspectID]suspect)
	}
	n.urgent.news = make(chan struct{}, 1)
	for i := range n.meters {
		m := &n.meters[i]
		m.Meter = c.Meters[i]
		if m.V4 == 0 {
			m.V4 = 32
		}
		if m.V6 == 0 {
			m.V6 = 64
		}
		n.index[m.Fingerprint] = i
		m.since.Store(m.slotAt(c.Boot))
		m.joined.Store(m.slotAt(c.Boot))
	}
	if c.Since != nil {
		n.KeepBoot(c.Boot, c.Since)
	}
	n.SetNodes(c.Nodes, c.Boot)
	if n.config.Previous != nil {
		n.takeOver(n.config.Previous)
		n.config.Previous = nil // let it be collected
	}
	return n
}

// drawSeeds sets the seeds of the hash, none of them 0: by the config's seed,
// else at random.
func (n *Totals) drawSeeds() {
	const golden = 0x9e3779b97f4a7c15 // 2^64 / φ, as in splitmix64
	for i := range n.seeds {
		if n.config.Seed != 0 {
			n.seeds[i] = fold(n.config.Seed+uint64(i+1)*golden, golden) | 1
		} else {
			n.seeds[i] = maphash.Comparable(maphash.MakeSeed(), i) | 1
		}
	}
}

// KeepBoot continues a boot that began before this process, which started now,
// in local time: what the tables have again is pushed under its old numbers.
// since is what Since returned at the clean end of the process before. A meter that is missing in since
// may have been pushed under this boot at some time, and its counts are not
// here: it begins with the next slot.
func (n *Totals) KeepBoot(started time.Time, since map[uint64]uint32) {
	for i := range n.meters {
		m := &n.meters[i]
		if epoch, ok := since[m.Fingerprint]; ok {
			m.since.Store(n.localSlot(m, epoch))
			m.stepped.Store(m.since.Load() + ring.Slots) // a step back of a window may have set it
		} else {
			m.since.Store(m.slotAt(started) + 1)
		}
	}
	n.scan.Store(true) // keys have a share without an event
}

// Since returns the first slot of the epoch that this boot pushes, for each
// meter that is reported, by fingerprint.
func (n *Totals) Since() map[uint64]uint32 {
	since := make(map[uint64]uint32)
	for i := range n.meters {
		if m := &n.meters[i]; m.Limit > 0 {
			since[m.Fingerprint] = uint32(max(int64(m.since.Load())+n.epochOffset(m), 0))
		}
	}
	return since
}

// Restored reports that the tables were filled with what an earlier boot had
// counted up to now, local time, that this one is another, and that it counts from
// now on: it must not push what that one may have pushed. So what the tables have of
// the present slot of each meter moves to the slot before, which is not pushed: here
// it leaves the window a slot early. To remember it beside the table, key by key, would
// be exact there, too, and take as much memory again where a slot has 24 minutes.
// Nothing else may use the tables meanwhile.
func (n *Totals) Restored(now time.Time) {
	for i := range n.meters {
		m := &n.meters[i]
		m.since.Store(m.slotAt(now))
		if m.Limit > 0 {
			m.moveBefore(m.slotAt(now))
		}
	}
}

// Redrawn reports that another process may have counted under this boot, and that this
// one has drawn another, at now in local time. Pushing begins with the next slot of
// each meter: of the present one, part was pushed under the boot before.
func (n *Totals) Redrawn(now time.Time) {
	for i := range n.meters {
		n.meters[i].since.Store(n.meters[i].slotAt(now) + 1)
		n.meters[i].redrawn.Store(n.meters[i].slotAt(now) + 1)
	}
}

// Count is called after each count on proven evidence, with the meter's index
// and the key's count. If the key is a suspect or watched, Count marks it to be
// pushed and returns what the other nodes had of it in the window that ends at
// op.Now, if Redis has answered for that slot; else 0. Count plus rest never
// exceed what the fleet counted in that window, and exceed the lowest limit of the
// meter's rules only by what is proven (see [Totals.Prove]).
//
// It is on the request path: for a key that is not a suspect, and while nothing
// is watched, it takes no lock and computes no hash.
func (n *Totals) Count(meter int, op *shard.Op, count uint32) (rest uint32) {
	m := &n.meters[meter]
	worth := count >= m.share.Load()
	if !worth && n.watched.Load().count.Load() == 0 {
		return 0
	}
	return n.count(meter, op, count, worth)
}

// count is the slow path of Count; worth says that the key's count has reached
// the share.
func (n *Totals) count(meter int, op *shard.Op, count uint32, worth bool) (rest uint32) {
	m := &n.meters[meter]
	if m.Limit == 0 {
		return 0
	}
	id := m.suspectOf(meter, op)
	hash := n.hashSuspect(id)
	if !worth && !n.watched.Load().has(hash) {
		return 0
	}
	p := &n.suspects[hash%parts]
	p.mu.Lock()
	defer p.mu.Unlock()
	s, known := p.known[id]
	if !known && (!worth || !n.admit(p, id, &s, count)) {
		return 0
	}
	if due := s.grown(count, m.share.Load()); !s.dirty || due && !s.due || count/2 >= s.rank {
		s.rank, s.dirty, s.due = count, true, s.due || due
		p.enlist(id, &s)
		p.known[id] = s
	}
	rest = s.allowed(count, m.Limit, op.Now, n.remainder(p, id).floorAt(op.Now))
	if s.hurries(m, count, rest, op.Now) && n.urgent.add(id) {
		s.hurried = true
		p.known[id] = s
	}
	return rest
}

// RestOfFleet returns what Count would, for a key of which nothing was counted now, and changes
// nothing: no key is pushed for it. op is as for a count, without a cost.
func (n *Totals) RestOfFleet(meter int, op *shard.Op, count uint32) (rest uint32) {
	m := &n.meters[meter]
	if m.Limit == 0 || count < m.share.Load() && n.watched.Load().count.Load() == 0 {
		return 0
	}
	id := m.suspectOf(meter, op)
	p := n.partOf(id)
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.known[id] // of one that is not known there is nothing
	return s.allowed(count, m.Limit, op.Now, n.remainder(p, id).floorAt(op.Now))
}

// suspectOf returns the ID of the key that op counts or asks about; meter is m's index.
func (m *meter) suspectOf(meter int, op *shard.Op) suspectID {
	var with uint64
	if m.With {
		with = shard.Fingerprint(op.With, m.Everybody)
	}
	return newSuspectID(meter, m.prefix(op.Addr), with)
}

// OwnCount returns what this node counts of a key in the window that ends at now, local
// time.
func (n *Totals) OwnCount(k Key, now time.Time) uint32 {
	id, ok := n.suspectOf(k)
	if !ok {
		return 0
	}
	m := &n.meters[id.meter]
	counts, _, _ := m.readSlots(id, m.slotAt(now))
	return (*ring.Counts)(&counts).Sum()
}

// hashSuspect spreads the suspects over the parts and the filter. It folds products,
// as wyhash does, in 4 ns where maphash.Comparable takes 32. The seeds are
// secret, so that no client can choose addresses that share a part.
//
// Source: github.com/wangyi-fudan/wyhash.
func (n *Totals) hashSuspect(id suspectID) uint64 {
	return fold(fold(id.hi^n.seeds[0], id.lo^n.seeds[1])^id.with^n.seeds[2], uint64(id.meter)^n.seeds[1])
}

func fold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

func (n *Totals) partOf(id suspectID) *suspects { return &n.suspects[n.hashSuspect(id)%parts] }

// suspectOf returns the ID of a key; false if no meter of this node has such keys.
func (n *Totals) suspectOf(k Key) (suspectID, bool) {
	i, ok := n.index[k.Meter]
	if !ok || n.meters[i].Limit == 0 || !k.Prefix.IsValid() || n.meters[i].prefix(k.Prefix.Addr()) != k.Prefix {
		return suspectID{}, false
	}
	return newSuspectID(i, k.Prefix, k.With), true
}

// keyOf returns the fleet's name of a suspect.
func (n *Totals) keyOf(id suspectID) Key {
	return Key{Meter: n.meters[id.meter].Fingerprint, Prefix: id.prefix(), With: id.with}
}

// epochOffset is by how many slots the epoch is ahead of the meter's local
// slots.
func (n *Totals) epochOffset(m *meter) int64 { return n.offset.Load() / int64(m.Width) }

// localSlot converts a slot of the epoch into the meter's local one.
func (n *Totals) localSlot(m *meter, epoch uint32) uint32 {
	return uint32(max(int64(epoch)-n.epochOffset(m), 0))
}

// SetOffset sets what is added to local time to get the epoch's: a multiple of
// every width (clockguard's). After a step, the slots up to the present one
// have other numbers than those they were pushed under. They stay local, or
// they would be counted twice.
func (n *Totals) SetOffset(offset time.Duration, now time.Time) {
	seconds := int64(offset / time.Second)
	back := max(n.offset.Load()-seconds, 0)
	if n.offset.Load() == seconds {
		return
	}
	for i := range n.meters {
		m := &n.meters[i]
		m.stepped.Store(m.slotAt(now) + 1 + uint32(back/int64(m.Width)))
		m.since.Store(max(m.since.Load(), m.slotAt(now)+1))
	}
	n.offset.Store(seconds)
}

// Stats returns what the node keeps, and its counters.
func (n *Totals) Stats() Stats {
	return Stats{
		Suspects: int(n.size.Load()), Watched: int(n.watched.Load().count.Load()), Cleared: n.cleared.len(),
		Quiet: n.config.Quiet, Nodes: int(n.sharedBy.Load()), MaxNodes: n.config.MaxNodes,
		Pushed: n.pushed.Load(), Reconciled: n.reconciled.Load(), Answered: n.answered.Load(), HeldBack: n.heldBack.Load(), Displaced: n.displaced.Load(),
		FullRequested: n.fullRequested.Load(), Refused: n.refused.Load(), WatchesSent: n.watchesSent.Load(), WatchesReceived: n.watchesReceived.Load(),
	}
}
