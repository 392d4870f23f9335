// Package blocklist knows who is blocked until when. The allowlist and the
// allowances made at run time win over everything, protected addresses over
// every block that was not forced, and the longest live prefix over shorter
// ones.
//
// A block inside an allowance sleeps: it is kept as any other and is in force
// again when the allowance is over. To refuse it was rejected: which blocks a
// list had would depend on the order in which it heard of both.
//
// Find takes no lock: it loads pointers atomically, to records that do not
// change, and asks a hash table once for each prefix length in use. Whoever
// walks the blocks in order gets a [bart] table as it was when the walk began:
// while somebody walks, each change copies the path to its place, some 10 KB.
// Lists of nodes that have seen the same changes are equal, in whatever order
// the changes came: of two records of one prefix the greater wins, in a total
// order that begins with their version.
//
// It is not an enforcer (it tells the one function given to [List.OnChange]),
// it does not travel (a node's fan-out calls [List.Merge]), and it reads no
// clock: now is an argument.
//
// [bart]: https://pkg.go.dev/github.com/gaissmai/bart
package blocklist

import (
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"edgeguard"
)

// DefaultRetention is how long a record is remembered after its end unless the
// config says otherwise: one default window, so that news that was on its way
// for that long is still recognized as old.
const DefaultRetention = 5 * time.Minute

// Config is what a new list starts with.
type Config struct {
	// Allow is never blocked; Protected only by Force. See SetAllow.
	Allow, Protected []netip.Prefix
	// Retention is how long tombstones and expired blocks are remembered after
	// the block's Until, so that older news cannot bring a block back.
	// 0 means DefaultRetention.
	Retention time.Duration
	// Most is how many blocks may stand at a time: what more comes from rules
	// takes the place of another, see ADR 15. Operators' blocks (of the rule
	// edgeguard.ManualRule, or forced) never go; they are refused with ErrFull where
	// they fill half of it, and allowances where there are a quarter as many. 0
	// is no bound.
	Most int
}

// List is the blocks of one node. All methods are safe for concurrent use;
// Find takes no lock and never waits for a writer. Make one with [New].
type List struct {
	view      atomic.Pointer[view] // nil while there is nothing to find
	retention time.Duration

	mu            sync.Mutex              // guards all below, and the writing of view
	current       view                    // what was published last
	blocks        *blockTable             // the standing blocks in order
	walks         int                     // under way through a table that blocks is or was
	exempt        []netip.Prefix          // the prefixes of allow and protected, as the filter has them
	remembered    map[netip.Prefix]*entry // tombstones, and blocks and allowances that have ended
	expiries      expiries                // the blocks and allowances
	ended, lifted expiries                // of those in remembered
	rules         map[string]int          // standing blocks by rule
	budget        budget
	notify        notifier
}

// New makes a list. Prefixes of the config may have host bits or be mapped
// IPv4: they are put right. Zero prefixes are left out.
func New(c Config) *List {
	l := &List{
		retention:  c.Retention,
		remembered: make(map[netip.Prefix]*entry),
		rules:      make(map[string]int),
		budget:     newBudget(c.Most),
	}
	if l.retention <= 0 {
		l.retention = DefaultRetention
	}
	l.current.allow = liteTable(c.Allow)
	l.current.protected = liteTable(c.Protected)
	l.blocks, l.current.allowances = new(blockTable), new(blockTable)
	l.current.index = newIndex()
	l.current.filter = newFilter()
	l.exempted()
	return l
}

// Find says how addr stands at now, and, where that is Blocked, by which
// block: the longest one that is live. The block is the list's own and must not
// be changed; it stays as it is after the list has changed. It allocates nothing
// and takes no lock. addr is unmapped, as everywhere behind the sensors.
func (l *List) Find(now time.Time, addr netip.Addr) (Standing, *edgeguard.Block) {
	standing, hit := l.Ask(now, addr)
	return standing, hit.Block()
}

// Covers reports whether the block that denies the first address of prefix
// covers all of prefix. It is one look-up without a lock: a longer block at that
// address hides a shorter one, which [List.Around] finds.
func (l *List) Covers(now time.Time, prefix netip.Prefix) bool {
	standing, block := l.Find(now, prefix.Addr())
	return standing == Blocked && block.Prefix.Bits() <= prefix.Bits()
}

// Ask is Find for who refuses events: the hit notes what is refused.
func (l *List) Ask(now time.Time, addr netip.Addr) (Standing, *Hit) {
	v := l.view.Load()
	if v == nil {
		return None, nil
	}
	return v.find(now, addr)
}

// Hit is a standing block that was found. Its methods are safe for concurrent use
// and may be called after the list has changed.
type Hit entry

// Block gives the block, nil of a nil hit.
func (h *Hit) Block() *edgeguard.Block {
	if h == nil {
		return nil
	}
	return &h.block
}

// Refused notes that this node refused an event at now because of the block. It
// takes no lock.
func (h *Hit) Refused(now time.Time) { h.seat.note(nanos(now)) }

// Empty reports whether nothing is blocked, allowed or protected, so that
// Find has nothing to say of any address.
func (l *List) Empty() bool { return l.view.Load() == nil }

// Len is the number of standing blocks: tombstones are left out, blocks whose
// time is over count until a Sweep.
func (l *List) Len() int {
	v := l.view.Load()
	if v == nil {
		return 0
	}
	return v.standing
}

// publish shows the current state to the readers. Where there is nothing to
// find they get nil, so that an empty list costs them one load.
func (l *List) publish() {
	l.current.standing = l.blocks.Size()
	v := l.current
	if v.allowances.Size() == 0 {
		v.allowances = nil
	}
	if v.exempt == nil && v.allowances == nil && v.standing == 0 {
		l.view.Store(nil)
	} else {
		l.view.Store(&v)
	}
}
