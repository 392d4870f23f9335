// Package imported holds the blocks that come from other people's lists: files of
// addresses that are fetched, decisions of a CrowdSec. They are of this node only: the
// fleet, the snapshot and the exports do not have them. Their number has a bound of its
// own, so that no list can evict what a rule or an operator blocked.
//
// What a node's own list says of an address comes first: ask the [Set] only where that
// says nothing. So an allowance, a protected address or another node's wins over every
// entry, also over one that was merged before. Such an entry is kept and counted
// as refused: it is in force when the allowance has ended, as a block of the own list is.
//
// A set keeps for each source what that wants, so that a prefix of two sources is blocked
// until the later end, and stays blocked when one of them lifts it.
//
// It is pure: now is an argument, there is no goroutine and no log. [Set.FindHit] takes no
// lock, and costs one atomic load while nothing is held.
package imported

import (
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
)

// WidestWideV4 and WidestWideV6 are the widest prefixes of an entry with Wide. A wider
// one is an error of its list: it would block whole continents.
const (
	WidestWideV4 = 8
	WidestWideV6 = 19
)

// Entry is one line of a list.
type Entry struct {
	// Prefix is masked, and not IPv4 mapped into IPv6.
	Prefix netip.Prefix
	// Until is when the entry ends unless its source says so before.
	Until time.Time
	// Reason is shown to operators. It is short, and has no control characters: the
	// source cleaned it.
	Reason string
	// Wide says that an operator allowed this source prefixes wider than
	// [edgeguard.WidestV4] and [edgeguard.WidestV6].
	Wide bool
}

// Outcome is what became of a call.
type Outcome struct {
	InForce                 int // entries of the source that may apply
	Added, Lifted, Extended int // Extended counts every changed end, reason and width
	Refused                     // by this call; Protected and Allowed are of all entries
}

// Changed reports whether the call changed what is kept.
func (o *Outcome) Changed() bool { return o.Added+o.Lifted+o.Extended > 0 }

// Refused counts entries by why they do not apply. Protected and Allowed ones are kept
// and sleep; the others are dropped.
type Refused struct {
	Protected, Allowed int
	TooWide            int
	Invalid            int // not masked, mapped, or no client's address
	Ended              int // when they came
	NoRoom             int
}

// Config is what a set needs.
type Config struct {
	Own  *blocklist.List // this node's list: it knows what is allowed and protected
	Node string          // this node's name: the origin of the blocks
	Most int             // entries of all sources together; 0 means no bound
	// Changed is called after each call that changed something, without a lock held:
	// with the prefixes that changed, or nil where these are too many to name. What is
	// in force there has to be looked up, since calls can overtake each other.
	// Nil disables it.
	Changed func([]netip.Prefix)
}

// Set is the imported blocks of one node. All methods are safe for concurrent use, and
// those that read also for a nil set, which is empty.
type Set struct {
	own     *blocklist.List
	node    string
	changed func([]netip.Prefix)
	list    *blocklist.List // what is blocked: the union of the sources
	// live is list while it holds a block, for readers.
	live  atomic.Pointer[blocklist.List]
	stats atomic.Pointer[[]SourceStats]

	mu      sync.Mutex // guards all below
	most    int
	rows    int // of all sources
	sources []*source
	swept   time.Time
}

// New returns an empty set.
func New(c Config) *Set {
	return &Set{
		own: c.Own, node: c.Node, most: c.Most, changed: c.Changed,
		list: blocklist.New(blocklist.Config{Retention: 1}), // nothing is remembered: see List.Remove
	}
}

// FindHit returns the imported block that denies an address for which the node's own list has
// no answer. It is [blocklist.List.FindHit]: it takes no lock and allocates nothing.
func (s *Set) FindHit(now time.Time, addr netip.Addr) (blocklist.Standing, *blocklist.Hit) {
	if s == nil {
		return blocklist.None, nil
	}
	l := s.live.Load()
	if l == nil {
		return blocklist.None, nil
	}
	return l.FindHit(now, addr)
}

// Empty reports whether Ask has nothing to say of any address.
func (s *Set) Empty() bool { return s == nil || s.live.Load() == nil }

// Blocks returns the imported blocks for reading, in [blocklist.List]'s ways; nil while
// there is none. Those that sleep are among them. Only this package changes them.
func (s *Set) Blocks() *blocklist.List {
	if s == nil {
		return nil
	}
	return s.live.Load()
}

// BlockOf returns the imported block of exactly this prefix that is live at now, nil if there
// is none.
func (s *Set) BlockOf(now time.Time, prefix netip.Prefix) *edgeguard.Block {
	if l := s.Blocks(); l != nil {
		return l.BlockOf(now, prefix)
	}
	return nil
}

// SetClaimed sets the addresses that nodes of the fleet claim unsigned: blocks of the
// networks around them do not apply to them, as in the node's own list.
func (s *Set) SetClaimed(unsigned []netip.Prefix) { s.list.SetPeers(nil, unsigned) }

// SetMost changes Config.Most. Where more are held, the sources with the most entries
// lose some.
func (s *Set) SetMost(most int, now time.Time) {
	s.mu.Lock()
	s.most = most
	c := change{set: s, now: now}
	for s.most > 0 && s.rows > s.most {
		c.trimRows(s.largest(), s.rows-s.most)
	}
	s.unlock(&c)
}

// largest returns the source with the most entries. It needs the lock.
func (s *Set) largest() (most *source) {
	for _, one := range s.sources {
		if most == nil || len(one.rows) > len(most.rows) {
			most = one
		}
	}
	return most
}

// sweepEvery is how often the entries of the sources are searched for those that have
// ended. Their blocks end by themselves.
const sweepEvery = 30 * time.Second

// Sweep forgets what has ended. Call it again while it returns true. It does not wait for
// a list that is merged, which takes seconds where it is long: what else the caller has to
// do each second must not.
func (s *Set) Sweep(now time.Time) (more bool) {
	more = s.list.Sweep(now) == blocklist.SweepStep
	if !s.mu.TryLock() {
		return more
	}
	defer s.mu.Unlock()
	if d := now.Sub(s.swept); d < 0 || d >= sweepEvery {
		s.swept = now
		for _, one := range s.sources {
			s.rows -= one.sweep(now)
		}
	}
	s.publish()
	return more
}

// publish shows the present state to readers. It needs the lock.
func (s *Set) publish() {
	if s.list.Len() > 0 {
		s.live.Store(s.list)
	} else {
		s.live.Store(nil)
	}
	all := make([]SourceStats, len(s.sources))
	for i, one := range s.sources {
		all[i] = one.stats()
	}
	s.stats.Store(&all)
}

// unlock ends a call that may have changed something.
func (s *Set) unlock(c *change) {
	s.publish()
	s.mu.Unlock()
	if s.changed != nil && c.touched > 0 {
		s.changed(c.named())
	}
}
