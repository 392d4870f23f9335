package detector

import (
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/rules"
	"edgeguard/shard"
)

// room is where an operation lies while Config.Fleet looks at it. What is
// handed to a function that is known only when the program runs has to lie on
// the heap; that of a node without a fleet stays on the stack.
type room struct {
	op   shard.Op
	text [attributesSize]byte
}

// rooms keeps rooms for the next caller.
type rooms struct{ pool sync.Pool }

func (r *rooms) take() *room {
	if room, ok := r.pool.Get().(*room); ok {
		return room
	}
	return new(room)
}

// countInFleet is what Decide does on a node with a fleet: the rest of the
// fleet has its say in every count.
func (c *decision) countInFleet() {
	room := c.d.rooms.take()
	for i := range c.d.meters {
		m := &c.d.meters[i]
		with, ok := m.prepare(&room.op, c, room.text[:0])
		if !ok {
			continue
		}
		room.op.With = view(with)
		table := m.table(c.event)
		n := c.counted(table.Add(&room.op), room.op.Cost)
		if m.fleet && table == m.proven {
			c.d.askFleet(m, &room.op, c.event, &n)
		}
		if n.cost > 0 {
			c.judge(i, n)
		}
	}
	room.op = shard.Op{} // attributes longer than the room must not be kept alive
	c.d.rooms.pool.Put(room)
}

// askFleet adds what the rest of the fleet counted to a proven count.
func (d *Detector) askFleet(m *meter, op *shard.Op, event *edgeguard.Event, n *count) {
	if n.cost == 0 {
		return
	}
	n.rest = d.config.Fleet(m.index, op, n.count)
	if proxied := &d.proxied[m.index]; event.Proxied && !proxied.Load() {
		proxied.Store(true)
	}
}

// as gives the count that a rule of the scope is about.
func (n count) as(scope rules.Scope) count {
	if scope == rules.ScopeFleet {
		n.count += n.rest // both are at most 60 times 65,535
	} else {
		n.rest = 0
	}
	return n
}

// reason says why a count that is over blocks: with its two parts, where this
// node alone did not see it.
func (n count) reason() string {
	if n.rest == 0 {
		return overLimit
	}
	return fmt.Sprintf("over limit in the fleet: %d here, %d on other nodes", n.count-n.rest, n.rest)
}

// FleetCount takes in a total that the fleet has counted of one key: count is
// that of the meter's key of this prefix and, in with, the fingerprint of its
// attributes (0 for none). Every rule of scope fleet whose limit it passes acts
// as if an event had crossed here: a `block` rule blocks the prefix for the
// given reason, unless a block of it stands; `shadow` and `deny` only tell. A
// `deny` rule refuses by what Config.Fleet says of each event.
//
// A crossing is told once, by whom it is seen first, an event here or
// FleetCount; again when a whole window has passed without a further word of
// it. A block that the list refuses is told as an alarm, likewise once.
//
// A total does not say whether the client is behind a proxy. The block is
// marked as such (Proxied) where any client of the meter was, which keeps it
// out of the kernel at worst.
func (d *Detector) FleetCount(now time.Time, meter int, prefix netip.Prefix, with uint64, count uint32, reason string) {
	if meter < 0 || meter >= len(d.meters) || !prefix.IsValid() {
		return
	}
	m := &d.meters[meter]
	for _, i := range m.rules {
		if r := &d.rules[i]; r.Scope == rules.ScopeFleet && count > r.Limit {
			d.fleetOver(now, m, r, prefix, with, count, reason)
		}
	}
}

// fleetOver acts on a total that is over the limit of rule r.
func (d *Detector) fleetOver(now time.Time, m *meter, r *rule, prefix netip.Prefix, with uint64, count uint32, reason string) {
	action, until := d.action(r), time.Time{}
	if action == edgeguard.ActionBlock && with == 0 {
		if d.stands(now, prefix) {
			return
		}
		var changed bool
		var err error
		until, changed, err = d.block(now, r, edgeguard.Block{
			Prefix: prefix, Reason: reason, Origin: d.config.Node, Proxied: d.proxied[m.index].Load(), Count: count,
		})
		switch {
		case err != nil:
			action, until = edgeguard.ActionAlarm, time.Time{}
		case !changed:
			return
		}
	}
	first := d.crossings.first(crossingKey{r.Name, prefix, with}, seconds(now), m.Window)
	if hear := d.config.Crossed; hear != nil && (first || action == edgeguard.ActionBlock) {
		hear(edgeguard.Crossing{
			Time: now, Node: d.config.Node, Rule: r.Name, Key: edgeguard.Key{Prefix: prefix, With: m.withText(with)},
			Action: action, Count: count, Limit: r.Limit, Threshold: r.Threshold, Until: until, Fleet: true,
		})
	}
}

// stands reports whether all of prefix is inside a live block, or inside an
// allowance: what the fleet counted of it before that was made says nothing new.
func (d *Detector) stands(now time.Time, prefix netip.Prefix) bool {
	standing, block := d.config.List.Find(now, prefix.Addr())
	switch {
	case standing == blocklist.None:
		return false
	case standing == blocklist.Blocked && block.Prefix.Bits() <= prefix.Bits():
		return true
	case standing == blocklist.Allowed:
		if _, ok := d.config.List.Allowance(now, prefix); ok {
			return true
		}
	}
	if prefix.IsSingleIP() {
		return false
	}
	// The first address is spared, or in a block of its own, and says nothing
	// of the others. That is rare enough to look at all blocks.
	for b := range d.config.List.All(now) {
		if inside(prefix, b.Prefix) {
			return true
		}
	}
	return false
}

// withText shows attributes of which only the fingerprint is known: their
// names and its last digits.
func (m *meter) withText(with uint64) string {
	if with == 0 {
		return ""
	}
	names := make([]string, 0, len(m.Attributes))
	for _, a := range m.Attributes {
		names = append(names, a.String())
	}
	return fmt.Sprintf("%s#%08x", strings.Join(names, ","), uint32(with))
}

// FleetLimits gives, for each meter by its index, the least limit of its rules
// of scope fleet, and 0 for a meter that has none: what the aggregator needs to
// know whom to tell the fleet about.
func (d *Detector) FleetLimits() []uint32 {
	out := make([]uint32, len(d.meters))
	for i := range d.rules {
		r := &d.rules[i]
		if least := &out[r.Meter]; r.Scope == rules.ScopeFleet && (*least == 0 || r.Limit < *least) {
			*least = r.Limit
		}
	}
	return out
}
