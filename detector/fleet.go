package detector

import (
	"fmt"
	"iter"
	"math"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"edgeguard"
	"edgeguard/internal/unsafetext"
	"edgeguard/internal/words"
	"edgeguard/rules"
	"edgeguard/shard"
)

// fleetQuestion holds an operation while Config.Fleet reads it. What is passed to a
// function known only at run time must be on the heap; without a fleet the
// operation stays on the stack.
type fleetQuestion struct {
	op     shard.Op
	text   [attributesSize]byte
	meters [rules.Sets * setWords]uint64
}

// fleetQuestions keeps questions for the next caller.
type fleetQuestions struct{ pool sync.Pool }

func (r *fleetQuestions) borrow() *fleetQuestion {
	if question, ok := r.pool.Get().(*fleetQuestion); ok {
		return question
	}
	return new(fleetQuestion)
}

// giveBack keeps a question. Attributes longer than it must not be kept alive.
func (r *fleetQuestions) giveBack(question *fleetQuestion) {
	question.op = shard.Op{}
	r.pool.Put(question)
}

// countInFleet is countAll on a node with a fleet, which adds to every count. One
// loop for both, with the operation copied for the fleet, costs such a node 30 ns
// an event.
func (c *counting) countInFleet() {
	question := c.d.questions.borrow()
	if c.d.indexed {
		for i, cost := range c.d.config.Rules.Matches(c.event, question.meters[:]) {
			c.countOneInFleet(&c.d.meters[i], cost, question)
		}
	} else {
		for i := range c.d.meters {
			m := &c.d.meters[i]
			if cost, matched := m.Match(c.event); matched {
				c.countOneInFleet(m, cost, question)
			}
		}
	}
	c.d.questions.giveBack(question)
}

func (c *counting) countOneInFleet(m *meter, cost uint16, question *fleetQuestion) {
	if m.skips(c) {
		return
	}
	if m.setsAside(c) {
		c.countAside(m, cost)
		return
	}
	with, ok := m.prepare(&question.op, c, cost, question.text[:0])
	if !ok {
		return
	}
	question.op.With = unsafetext.String(with)
	table := m.table(c.event)
	n := c.readAnswer(table.Add(&question.op), question.op.Cost)
	if m.fleet && table == m.proven {
		c.d.askFleet(m, &question.op, c.event, &n)
	}
	c.noteCount(m, n)
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

// Resumed says that the tables have what a process before counted, and that this one begins
// to count at now. What comes again, and may have been reported to the fleet by that one, is
// counted in slots before now's: from now's on, the fleet is told.
func (d *Detector) Resumed(now time.Time) { d.resumed.Store(now.UnixNano()) }

// unreported returns the slot in which an event counts that another process may have reported.
func (m *meter) unreported(slot uint32) uint32 {
	resumed := m.resumed.Load()
	if resumed == 0 {
		return slot
	}
	return min(slot, m.slotAt(uint32(resumed/int64(time.Second)))-1)
}

// inScope returns the count that a rule of the scope is about.
func (n count) inScope(scope rules.Scope) count {
	if scope == rules.ScopeFleet {
		n.count += n.rest // both are at most 60 times 65,535
	} else {
		n.rest = 0
	}
	return n
}

// reason says why a count over the limit blocks: with its two parts, where this
// node alone did not see it.
func (n count) reason(u words.Measure) string {
	if n.rest == 0 {
		return overLimit
	}
	return fmt.Sprintf(twoParts, u.Amount(n.count-n.rest), u.Amount(n.rest))
}

// twoParts is the reason of a block that an event here made by what the whole
// fleet counts: which node counted how much is not known at that moment.
const twoParts = "over limit in the fleet: %s here, %s on other nodes"

// TwoParts parses the reason of a block that names this node's count in the unit, here, and
// that of all others. ok is false for any other reason.
func TwoParts(reason string, u words.Measure) (here uint32, ok bool) {
	var amount, rest string
	n, err := fmt.Sscanf(reason, twoParts, &amount, &rest)
	if n != 2 || err != nil || reason != fmt.Sprintf(twoParts, amount, rest) {
		return 0, false
	}
	ones, err := strconv.ParseFloat(strings.ReplaceAll(amount, ",", ""), 64)
	counted := math.Round(ones * float64(max(u.Each, 1)))
	return uint32(counted), err == nil && counted >= 0 && counted <= math.MaxUint32
}

// FleetCount applies a total that the fleet has counted of one key: the meter's
// key of this prefix and, in with, the fingerprint of its attributes (0 for none).
// Every rule of scope fleet whose limit the total passes acts as if an event had
// crossed here. A `block` rule blocks the prefix for the given reason, unless a
// block as strong is in force; `shadow` and `deny` only report. A `deny` rule
// refuses by what Config.Fleet returns for each event.
//
// A crossing is reported once, by an event here or by FleetCount, and again only
// after a whole window without it. A block that the list refuses is reported as an
// alarm, also once.
//
// A total does not say whether the client is behind a proxy. The block is marked
// Proxied if any client of the meter was: at worst this keeps it out of the
// kernel.
func (d *Detector) FleetCount(now time.Time, meter int, prefix netip.Prefix, with uint64, count uint32, reason string) {
	for i := range d.fleetRules(meter, prefix, count) {
		d.fleetOver(now, i, prefix, with, count, reason)
	}
}

// fleetRules returns the rules of scope fleet of a meter whose limit a total passes.
func (d *Detector) fleetRules(meter int, prefix netip.Prefix, count uint32) iter.Seq[int] {
	return func(yield func(int) bool) {
		if meter < 0 || meter >= len(d.meters) || !prefix.IsValid() {
			return
		}
		for _, i := range d.meters[meter].rules {
			if r := &d.rules[i]; r.Scope == rules.ScopeFleet && count > r.Limit && !yield(i) {
				return
			}
		}
	}
}

// Settled reports whether FleetCount would do nothing new with a total: its block
// is in force, and its crossing was reported.
func (d *Detector) Settled(now time.Time, meter int, prefix netip.Prefix, with uint64, count uint32) bool {
	settled := meter >= 0 && meter < len(d.meters)
	for i := range d.fleetRules(meter, prefix, count) {
		r := &d.rules[i]
		blocks := d.action(r) == edgeguard.ActionBlock && with == 0
		var by *edgeguard.Block
		if blocks {
			by, _ = d.strongerBlock(now, r, prefix)
		}
		switch {
		case by != nil && by.Rule == r.Name:
		case blocks && by == nil:
			settled = false
		default:
			key := crossingKey{r.Name, d.meters[meter].told(prefix), with}
			settled = d.crossings.noteOngoing(key, seconds(now), d.meters[meter].Window) && settled
		}
	}
	return settled
}

// fleetOver acts on a total that is over the limit of rule i.
func (d *Detector) fleetOver(now time.Time, i int, prefix netip.Prefix, with uint64, count uint32, reason string) {
	r := &d.rules[i]
	m := &d.meters[r.Meter]
	told := edgeguard.Crossing{
		Time: now, Node: d.config.Node, Rule: r.Name, Key: edgeguard.Key{Prefix: m.told(prefix), With: m.withText(with)},
		Action: d.action(r), Count: count, Limit: r.Limit, Threshold: r.Threshold, Fleet: true,
	}
	if told.Action == edgeguard.ActionBlock && with == 0 && !d.fleetBlock(now, r, &told, reason) {
		return
	}
	first := d.crossings.noteNew(crossingKey{r.Name, told.Key.Prefix, with}, seconds(now), m.Window)
	if d.config.Crossed != nil && (first || told.Action == edgeguard.ActionBlock) {
		d.tell(m, told)
	}
}

// fleetBlock blocks the prefix of a crossing, and notes the result there. It
// reports whether the crossing must be reported: not for a prefix that is allowed,
// or that this rule has blocked already.
func (d *Detector) fleetBlock(now time.Time, r *rule, told *edgeguard.Crossing, reason string) bool {
	prefix := told.Key.Prefix
	if _, allowed := d.config.List.Allowance(now, prefix); allowed {
		return false
	}
	by, old := d.strongerBlock(now, r, prefix)
	if by != nil {
		told.Action, told.Stands, told.Until = edgeguard.ActionDeny, by.Rule, by.Until
		return by.Rule != r.Name
	}
	if told.FrontDoor = d.fleetDoor(now, r, prefix); told.FrontDoor != "" {
		told.Action = edgeguard.ActionAlarm
		return true
	}
	until, changed, err := d.makeBlock(now, r, edgeguard.Block{
		Prefix: prefix, Reason: reason, Origin: d.config.Node, Proxied: d.proxied[r.Meter].Load(), Count: told.Count,
	}, old, noScope, true)
	if err != nil {
		told.Action = edgeguard.ActionAlarm
		return true
	}
	told.Until = until
	return changed
}

// told returns the prefix of a key as people and lists are told it.
func (m *meter) told(prefix netip.Prefix) netip.Prefix {
	if m.Everybody {
		return netip.Prefix{}
	}
	return prefix
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
// of scope fleet, and 0 for a meter that has none: the aggregator uses
// them to choose which keys to report to the fleet.
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
