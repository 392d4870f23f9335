package detector

import (
	"math"
	"net/netip"
	"sync/atomic"
	"time"

	"edgeguard"
	"edgeguard/internal/unsafetext"
	"edgeguard/rules"
	"edgeguard/shard"
)

// attributesSize is the room for a key's attributes on the stack; longer ones
// cost an allocation.
const attributesSize = 128

// meter is a compiled meter with the tables that count for it.
type meter struct {
	*rules.Meter
	// Proven and forgeable evidence never add up: a stranger who forges a
	// thousand packets of an address must not bring its next request over a limit.
	proven, forgeable *shard.Table
	rules             []int
	index             int
	least             uint32        // of the limits of its rules and their candidates
	limit             uint32        // the least of its rules
	wide              []wide        // networks around the keys, in IPv6; see wide.go
	share             uint32        // what one key adds to each of them in a window, at most
	fleet             bool          // Config.Fleet is called on proven counts
	answers           bool          // it counts what only an answer tells
	loses             bool          // a rule does not stay local when the fleet is lost
	seed              uint64        // of the values that it counts, for a meter of different values
	aside             *asideCounts  // of an excusing meter; nil for others
	mark              uint64        // the fingerprint of an excusing meter
	resumed           *atomic.Int64 // the detector's
	// exact says that a decision reads the key's ring, and not its count alone, or its
	// count before the event, or that a block made before it matters: batches count for
	// this meter event by event.
	exact bool
}

// count is what one event made of its key's count; the zero value says that
// the event was not counted.
type count struct {
	count uint32
	rest  uint32 // what the rest of the fleet counted of the key
	cost  uint16 // of the event; 0: not counted
	added uint16 // the part of the cost that its slot had room for
}

// crossed reports whether this event brought the count from at or under the
// limit to over it.
func (n count) crossed(limit uint32) bool {
	return n.count > limit && n.count-min(n.count, uint32(n.added)) <= limit
}

func newMeter(c *Config, index int) meter {
	m := meter{Meter: &c.Rules.Meters[index], index: index, least: math.MaxUint32, limit: math.MaxUint32, seed: c.Seed}
	m.answers = m.CountsAnswers()
	m.rules = m.Rules
	for _, i := range m.rules {
		r := &c.Rules.Rules[i]
		m.fleet = m.fleet || c.Fleet != nil && r.Scope == rules.ScopeFleet
		m.loses = m.loses || r.OnFleetLoss != rules.LossLocal
		m.exact = m.exact || m.Everybody || readsRing(r, m.Window) || c.Past && deniesByAnswer(r, m.Meter) ||
			c.withholds() && (m.answers || r.Action == edgeguard.ActionDeny)
		m.limit = min(m.limit, r.Limit)
		m.least = min(m.least, leastLimit(r), nearOf(c, r)-1)
	}
	former := m.former(c)
	m.makeAside(former)
	if former != nil {
		m.proven, m.forgeable, m.wide, m.seed = former.proven, former.forgeable, former.wide, former.seed
	} else {
		m.proven, m.forgeable = shard.New(c.Memory, m.tableConfig(c)), shard.New(c.Memory, m.tableConfig(c))
	}
	m.widen(c)
	return m
}

// tableConfig is that of the tables of the meter's own keys.
func (m *meter) tableConfig(c *Config) shard.Config {
	return shard.Config{
		V4: m.V4, V6: m.V6, With: len(m.Attributes) > 0, Everybody: m.Everybody, Distinct: m.Distinct != 0, Peaks: c.Peaks, Seed: c.Seed,
	}
}

// readsRing reports whether a decision of r goes by more than the count: by when
// the count falls, or by what was counted since a block that began in the window.
func readsRing(r *rules.Rule, window time.Duration) bool {
	return r.Action == edgeguard.ActionBlock && (r.WhileOver || len(r.Escalate) > 0 && r.BlockFor < window)
}

// leastLimit is that of a rule and its candidates.
func leastLimit(r *rules.Rule) uint32 {
	least := r.Limit
	for _, c := range r.Candidates {
		least = min(least, c.Limit)
	}
	return least
}

// countWithoutRule is the greatest count of a meter on which a decision has nothing to
// say, whatever the event; below 0 if there is none.
func (d *Detector) countWithoutRule(m *meter) int64 {
	if d.config.Counted != nil || m.loses && d.lost.Load() {
		return -1
	}
	return int64(m.least)
}

// table returns the table that counts the event.
func (m *meter) table(event *edgeguard.Event) *shard.Table {
	if event.Verified&m.Kind != 0 {
		return m.proven
	}
	return m.forgeable
}

// heldUnder returns the address under which the tables hold what the meter counts of one.
func (m *meter) heldUnder(addr netip.Addr) netip.Addr {
	if m.Everybody {
		return edgeguard.Everybody.Addr()
	}
	return addr
}

// other returns the meter's table that is not this one.
func (m *meter) other(table *shard.Table) *shard.Table {
	if table == m.proven {
		return m.forgeable
	}
	return m.proven
}

// slotAt returns the slot of an instant in seconds.
func (m *meter) slotAt(sec uint32) uint32 { return sec / m.Width }

// prepareOp makes op the operation that counts an event that matches at a cost, except for the
// attributes; it is false where the event lacks
// what the meter counts the values of. The fields are set one by one: a literal would
// be copied in pieces of 16 bytes, and reading the address back from such a copy waits
// for it (measured: a failed store forwarding at each event).
func (m *meter) prepareOp(op *shard.Op, event *edgeguard.Event, at moment, cost uint16, last *shown) bool {
	op.Addr = m.heldUnder(event.Addr)
	op.Now = m.slotAt(at.nowSec)
	op.Slot = op.Now
	if at.eventSec != at.nowSec { // a division saved: most events are of now
		op.Slot = m.slotAt(at.eventSec)
	}
	if event.Again && m.fleet {
		op.Slot = m.unreported(op.Slot)
	}
	op.Cost = cost
	if m.Distinct != 0 {
		return m.setShownValue(op, event, last)
	}
	if event.Hits > 1 {
		op.Cost = uint16(min(uint32(cost)*uint32(event.Hits), math.MaxUint16)) // a slot has room for no more
	}
	return true
}

// attributes appends the values of the key's attributes to buf; known is false
// if the event lacks one, and then the meter does not count it.
func (m *meter) attributes(event *edgeguard.Event, buf []byte) (with []byte, known bool) {
	if len(m.Attributes) == 0 {
		return buf, true
	}
	return m.AppendAttributes(event, buf)
}

// countEvent counts an event that the meter matches at a cost.
func (m *meter) countEvent(c *counting, cost uint16) count {
	if m.skips(c) {
		return count{}
	}
	if m.Everybody && m.aside != nil {
		m.aside.scopes.Or(1 << c.scope)
	}
	if m.setsAside(c) {
		c.countAside(m, cost)
		return count{}
	}
	if len(m.Attributes) > 0 {
		return m.addWith(c, cost)
	}
	var op shard.Op
	if !m.prepareOp(&op, c.event, c.moment, cost, &c.shown) {
		return count{}
	}
	return c.readAnswer(m.table(c.event).Add(&op), op.Cost)
}

// addWith is countEvent for a key with attributes: only those pay for the room.
func (m *meter) addWith(c *counting, cost uint16) count {
	var buf [attributesSize]byte
	var op shard.Op
	with, ok := m.prepare(&op, c, cost, buf[:0])
	if !ok {
		return count{}
	}
	op.With = unsafetext.String(with)
	return c.readAnswer(m.table(c.event).Add(&op), op.Cost)
}

// prepare is set and the attributes, which it appends to buf and leaves to
// the caller to set: set here, they would have to lie on the heap.
func (m *meter) prepare(op *shard.Op, c *counting, cost uint16, buf []byte) (with []byte, ok bool) {
	if !m.prepareOp(op, c.event, c.moment, cost, &c.shown) {
		return buf, false
	}
	return m.attributes(c.event, buf)
}

// readAnswer reads a table's answer, and notes a late event: it is not counted and not judged.
func (c *counting) readAnswer(n shard.Count, cost uint16) count {
	out, late := answered(n, cost)
	c.late = c.late || late
	return out
}

// answered reads a table's answer.
func answered(n shard.Count, cost uint16) (out count, late bool) {
	if n.Late {
		return count{}, true
	}
	return count{count: n.Count, cost: cost, added: n.Added}, false
}

// retryAfter is how long until one more event like this one would be let
// through, if nothing else came.
func (m *meter) retryAfter(o *occasion, r *rule) time.Duration {
	var buf [attributesSize]byte
	var op shard.Op
	with, known := m.attributes(o.event, buf[:0])
	cost, matched := m.Match(o.event)
	if !matched || !m.prepareOp(&op, o.event, o.moment, cost, &o.shown) || !known {
		return 0
	}
	source := source{m, m.table(o.event), r.Limit, m.fleet && r.Scope == rules.ScopeFleet}
	room := r.Limit - min(r.Limit, m.costOfRepeat(uint32(op.Cost), op.Slot == op.Now))
	_, most := o.d.countFallsTo(&source, op.Addr, unsafetext.String(with), o.nowSec, room)
	return most.Sub(o.now)
}

// startOfSlot returns the instant at which a slot begins.
func (m *meter) startOfSlot(slot uint32) time.Time {
	return time.Unix(int64(slot)*int64(m.Width), 0).UTC()
}

// Table is one of a detector's tables, for reading: distributions, top keys,
// snapshots.
type Table struct {
	Meter *rules.Meter
	// Forgeable says that the table counts evidence that a stranger can forge.
	Forgeable bool
	// Wide is the prefix length of a table that adds up the keys of IPv6
	// networks, 56 or 48; 0 for one of the meter's own keys.
	Wide uint8
	*shard.Table
}

// Tables returns all tables: first those of the meters' own keys, the two of one
// meter side by side, then those of the networks around them.
func (d *Detector) Tables() []Table {
	var out []Table
	for i := range d.meters {
		m := &d.meters[i]
		out = append(out, Table{Meter: m.Meter, Table: m.proven}, Table{Meter: m.Meter, Forgeable: true, Table: m.forgeable})
	}
	for i := range d.meters {
		for _, w := range d.meters[i].wide {
			out = append(out, Table{Meter: d.meters[i].Meter, Wide: w.bits, Table: w.Table})
		}
	}
	return out
}

// Sweep does a bounded part of the housekeeping of every table: it removes keys
// whose counts have left the window, and steps that are a day old. It returns how
// many keys it removed.
func (d *Detector) Sweep(now time.Time, pages int) int {
	sec, removed := seconds(now), 0
	for i := range d.meters { // not Tables, which makes a list
		m := &d.meters[i]
		slot := m.slotAt(sec)
		removed += m.proven.Sweep(slot, pages) + m.forgeable.Sweep(slot, pages)
		for k := range m.wide {
			removed += m.wide[k].Sweep(slot, pages)
		}
	}
	for t := range d.asideTables {
		removed += t.Sweep(sec/t.Meter.Width, pages)
	}
	if d.outages != nil && !d.config.Past {
		d.outages.followClock(now)
	}
	d.tellLate(now)
	d.steps.sweep(now, pages)
	d.crossings.sweep(sec, pages)
	return removed
}
