// Package blocklist holds which prefixes are blocked until when. The allowlist and the
// allowances made at run time come before everything, protected addresses before every
// block that was not forced on this node, and the longest prefix in force before
// shorter ones.
//
// A block inside an allowance sleeps: it is kept, and is in force again when the
// allowance has ended. Refusing it was rejected: the blocks of a list would then
// depend on the order in which it received both.
//
// Find takes no lock: it loads pointers atomically, to records that do not
// change, and looks into a hash table once for each prefix length in use. A walk
// in order reads a [bart] table as it was when the walk began: during a walk, each
// change copies the path to its place, some 10 KB.
//
// Lists that have received the same changes are equal, whatever the order: of two
// records of one prefix the greater wins, in a total order that begins with the
// version.
//
// A list enforces nothing: it calls the function given to [List.OnChange]. It
// sends nothing to other nodes: the fleet's blocks come in by [List.Merge]. It
// reads no clock: now is an argument.
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

// defaultRetention is how long a record is remembered after its end unless the
// config says otherwise: one default window, so that news that was on its way
// for that long is still recognized as old.
const defaultRetention = 5 * time.Minute

// Config is what a new list starts with.
type Config struct {
	// Allow is never blocked; Protected only by Force. See SetAllow.
	Allow, Protected []netip.Prefix
	// Retention is how long tombstones and expired blocks are remembered after
	// the block's Until, so that older news cannot bring a block back.
	// 0 means DefaultRetention.
	Retention time.Duration
	// Most is how many blocks there may be. At the bound, a rule's block evicts
	// another: see ADR 17. Operators' blocks (of the rule edgeguard.ManualRule, or
	// forced) are never evicted; they are refused with ErrFull when they fill half
	// of it, and allowances when there are a quarter as many. 0 means no bound.
	Most int
}

// List is the blocks of one node. All methods are safe for concurrent use;
// Find takes no lock and never waits for a writer. Make one with [New].
type List struct {
	view      atomic.Pointer[view] // nil while there is nothing to find
	retention time.Duration

	mu            sync.Mutex                // guards all below, and storing view
	current       view                      // what was published last
	blocks        *blockTable               // the blocks in force, in order
	walks         int                       // under way through a table that blocks is or was
	exempt        []netip.Prefix            // the prefixes of view.exempt, as the filter has them
	remembered    map[netip.Prefix]*entry   // tombstones, and blocks and allowances that have ended
	expiries      expiries                  // the blocks and allowances
	ended, lifted expiries                  // of those in remembered
	newest        arrivals                  // the blocks in force
	replaced      map[netip.Prefix][]*entry // those in whose place they stand
	replacements  uint64                    // changes of replaced
	texts         texts
	budget        budget
	elsewhere     ledger
	signs         bool // this node has a fleet key
	notify        notifier
}

// New returns a list. Prefixes of the config may have host bits or be mapped
// IPv4: New corrects them. It ignores zero prefixes.
func New(c Config) *List {
	l := &List{
		retention:  c.Retention,
		remembered: make(map[netip.Prefix]*entry),
		replaced:   make(map[netip.Prefix][]*entry),
		newest:     newArrivals(),
		texts:      make(texts),
		budget:     newBudget(c.Most),
		elsewhere:  make(ledger),
	}
	if l.retention <= 0 {
		l.retention = defaultRetention
	}
	l.current.allow = liteTable(c.Allow)
	l.current.protected = liteTable(c.Protected)
	l.current.peers, l.current.claimed = liteTable(nil), liteTable(nil)
	l.blocks, l.current.allowances = new(blockTable), new(blockTable)
	l.current.index = newIndex()
	l.current.filter = newFilter()
	l.exempted()
	return l
}

// Find returns the standing of addr at now and, if that is Blocked, the longest
// block in force. The block is the list's own and must not be changed; it does not
// change when the list does. Find allocates nothing and takes no lock. addr must
// be unmapped, as in every event.
func (l *List) Find(now time.Time, addr netip.Addr) (Standing, *edgeguard.Block) {
	standing, hit := l.FindHit(now, addr)
	return standing, hit.Block()
}

// Covers reports whether the block that denies the first address of prefix
// covers all of prefix. It is one look-up without a lock: a longer block at that
// address hides a shorter one, which [List.Around] finds.
func (l *List) Covers(now time.Time, prefix netip.Prefix) bool {
	standing, block := l.Find(now, prefix.Addr())
	return standing == Blocked && block.Prefix.Bits() <= prefix.Bits()
}

// FindHit is Find for a caller that refuses events, and reports so with Hit.Refused.
func (l *List) FindHit(now time.Time, addr netip.Addr) (Standing, *Hit) {
	v := l.view.Load()
	if v == nil {
		return None, nil
	}
	return v.findHit(now, addr)
}

// Hit is a block that was found. Its methods are safe for concurrent use and may
// be called after the list has changed.
type Hit entry

// Block returns the block, nil for a nil hit.
func (h *Hit) Block() *edgeguard.Block {
	if h == nil {
		return nil
	}
	return &h.block
}

// Refused counts events that this node refused at now because of the block, and
// returns the number of such events with them; 0 once there are too many to count. It
// takes no lock.
func (h *Hit) Refused(now time.Time, events uint32) (nth uint32) {
	return h.seat.noteRefusals(nanos(now), events)
}

// Asked says of events that were counted with Refused that their client waited for the
// answer.
func (h *Hit) Asked(events uint32) { addBelowMax(&h.seat.asked, events) }

// TurnedAway and Served say of an event that was counted with Refused what its server did,
// as a log has it.
func (h *Hit) TurnedAway() { addBelowMax(&h.seat.turnedAway, 1) }

// Served is the other of TurnedAway.
func (h *Hit) Served() { addBelowMax(&h.seat.served, 1) }

// Elsewhere reports whether the block is in force on another node's word alone: see
// [Trust].
func (h *Hit) Elsewhere() bool { return h.trust.has(elsewhere) }

// FirstInForce returns when the block was first in force on this node: another node may have made
// it long before.
func (h *Hit) FirstInForce() time.Time { return time.Unix(0, h.seat.came).UTC() }

// Empty reports whether nothing is blocked, allowed or protected, so that
// Find has nothing to say of any address.
func (l *List) Empty() bool { return l.view.Load() == nil }

// Len returns the number of blocks, without tombstones. Blocks that have expired
// count until a Sweep.
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
