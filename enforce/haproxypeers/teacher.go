// Package haproxypeers keeps blocks in force in HAProxy's stick tables, by its peers
// protocol.
//
// A [Teacher] holds what is to be in force. It has no connection: for each one, a
// session asks a [Follower] what to teach next.
//
// HAProxy keeps an entry that it was taught until the table's own time is over, in 2.6
// whatever time to live it was taught with. So that time is five minutes at most, and
// everything is taught again within [Again]: when edgeguard is gone, a block ends with
// its entry. While edgeguard runs, a block that ends is taught as 0.
package haproxypeers

import (
	"context"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"edgeguard/enforce"
	"edgeguard/haproxy"
)

// most bounds the entries that are kept, and so what a HAProxy can make of them.
const most = 1 << 20

// Teacher holds the blocks for HAProxy. It is safe for concurrent use.
type Teacher struct {
	mu        sync.Mutex // guards all below
	set       map[netip.Prefix]time.Time
	odd       int // how many of the set have no table of their length
	ends      enforce.Ends
	plan      haproxy.BlockPlan
	table     table
	followers map[*Follower]bool
}

// New returns a teacher without blocks.
func New() *Teacher {
	return &Teacher{
		set: make(map[netip.Prefix]time.Time), followers: make(map[*Follower]bool),
		table: table{index: make(map[haproxy.BlockKey]int32)},
	}
}

// Traits returns how to use it: changes are passed on as they come, and HAProxy sees the
// client's address.
func (e *Teacher) Traits() enforce.Traits { return enforce.Traits{Takes: time.Second} }

// Close does nothing: HAProxy keeps what it was taught for some minutes, in which a
// restarted node teaches it again.
func (e *Teacher) Close() error { return nil }

// Replace makes entries all that is to be in force.
func (e *Teacher) Replace(_ context.Context, now time.Time, entries []enforce.Entry) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	wanted := make(map[netip.Prefix]bool, len(entries))
	var changed []netip.Prefix
	for _, n := range entries {
		wanted[n.Prefix] = true
		changed = e.add(changed, n)
	}
	for p := range e.set {
		if !wanted[p] {
			changed = e.remove(changed, p)
		}
	}
	e.settle(now, changed)
	return nil
}

// Apply adds and removes prefixes.
func (e *Teacher) Apply(_ context.Context, now time.Time, add []enforce.Entry, remove []netip.Prefix) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	var changed []netip.Prefix
	for _, n := range add {
		changed = e.add(changed, n)
	}
	for _, p := range remove {
		changed = e.remove(changed, p)
	}
	e.settle(now, changed)
	return nil
}

// Left returns how many prefixes are not in force in HAProxy, because they would be too
// many entries.
func (e *Teacher) Left() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.plan.Left)
}

// Refuses returns a function that reports whether a HAProxy is connected that refuses all
// of a blocked prefix.
func (e *Teacher) Refuses() func(netip.Prefix) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	connected, left := len(e.followers) > 0, slices.Collect(maps.Keys(e.plan.Left))
	return func(p netip.Prefix) bool { return connected && !slices.ContainsFunc(left, p.Overlaps) }
}

// add puts an entry into the set, and its prefix at the end of changed if that changed
// something. It needs the lock.
func (e *Teacher) add(changed []netip.Prefix, n enforce.Entry) []netip.Prefix {
	before, known := e.set[n.Prefix]
	if known && before.Equal(n.Until) {
		return changed
	}
	if _, exact := haproxy.BlockKeyOf(n.Prefix); !exact && !known {
		e.odd++
	}
	e.set[n.Prefix] = n.Until
	e.ends.PushEnd(n.Until, n.Prefix)
	return append(changed, n.Prefix)
}

// remove is the opposite of add.
func (e *Teacher) remove(changed []netip.Prefix, p netip.Prefix) []netip.Prefix {
	if _, known := e.set[p]; !known {
		return changed
	}
	if _, exact := haproxy.BlockKeyOf(p); !exact {
		e.odd--
	}
	delete(e.set, p)
	return append(changed, p)
}

// settle brings the entries in line with the set. It needs the lock.
func (e *Teacher) settle(now time.Time, changed []netip.Prefix) {
	e.ends.Rebuild(e.set)
	if len(changed) == 0 {
		return
	}
	before := e.plan
	if e.odd > 0 || len(before.Entries) > 0 || len(before.Left) > 0 {
		e.plan = haproxy.NewBlockPlan(e.set)
	}
	for _, p := range changed {
		if k, exact := haproxy.BlockKeyOf(p); exact {
			e.write(now, k, e.wanted(k))
		}
	}
	for _, plan := range []haproxy.BlockPlan{before, e.plan} { // a key that is written again stays as it is
		for k := range plan.Entries {
			if before.Entries[k] != e.plan.Entries[k] {
				e.write(now, k, e.wanted(k))
			}
		}
	}
}

// wanted returns what a key is to say. It needs the lock.
func (e *Teacher) wanted(k haproxy.BlockKey) haproxy.BlockEntry {
	n := e.plan.Entries[k]
	if until, blocked := e.set[k.Prefix()]; blocked && !until.Before(n.Until) {
		return haproxy.BlockEntry{Value: haproxy.BlockedGPT, Until: until}
	}
	return n
}

// write makes an entry of the table say something else. It needs the lock.
func (e *Teacher) write(now time.Time, k haproxy.BlockKey, n haproxy.BlockEntry) {
	if n.Value == 0 {
		n.Until = now.Add(haproxy.BlockTables()[k.Table].Expire)
	}
	at, turn, changed := e.table.setEntry(k, n)
	if !changed {
		return
	}
	for f := range e.followers {
		f.enqueue(at, turn)
	}
}

// expire ends what is over at now. It needs the lock.
func (e *Teacher) expire(now time.Time) {
	var changed []netip.Prefix
	for {
		p, until, ok := e.ends.PopOver(now)
		if !ok {
			break
		}
		if at, known := e.set[p]; known && at.Equal(until) {
			changed = e.remove(changed, p)
		}
	}
	e.settle(now, changed)
	e.table.freeForgotten(now)
}
