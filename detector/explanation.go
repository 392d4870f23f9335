package detector

import (
	"math"
	"net/netip"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/ring"
	"edgeguard/rules"
	"edgeguard/shard"
)

// Explanation is what is known of an address.
type Explanation struct {
	Addr netip.Addr
	// Standing is the blocklist's, and Block the block if that is Blocked.
	Standing blocklist.Standing
	Block    edgeguard.Block
	// Rules says how near the address is to each rule's limit, in the order of
	// the config.
	Rules []RuleExplanation
}

// RuleExplanation is one rule's view of an address.
type RuleExplanation struct {
	Rule   string
	Action edgeguard.Action
	// Asked says that the rule counts answers and refuses requests that meet its terms but
	// the status, wherever a proxy asks about them.
	Asked bool
	// Key is what is counted together for the address, without the attributes. Where it has no
	// address, the counts are those of everybody.
	Key edgeguard.Key
	// Unsearched says that nothing is known of the counts: see Glance.
	Unsearched bool
	// Keys is how many keys of the address the rule's meter holds: one at most,
	// unless it counts by attributes as well. Count and Forgeable are then
	// those of the key with the greatest count, and there are no Slots.
	Keys int
	// Count is the cost in the window that ends now, on evidence that cannot
	// be forged; Forgeable that on evidence that can, which never blocks.
	Count, Forgeable uint32
	Limit, Threshold uint32
	Window           time.Duration
	// Distinct is what Count counts the different values of; 0 for events.
	Distinct rules.Distinct
	// Slots are the counts of the window's 60 parts, oldest first: of values, how many were
	// last seen in each.
	Slots [ring.Slots]uint16
	// Under is how long until the count is at or under the limit if nothing
	// more comes; 0 if it is already.
	Under      time.Duration
	Candidates []CandidateExplanation
	// Wide has the networks around an IPv6 key, the smallest first.
	Wide []WideExplanation
	// Blocks is how many blocks by this rule are remembered, for a rule that
	// escalates, and Next how long the next would last; 0 for one that does not
	// block.
	Blocks int
	Next   time.Duration
}

// CandidateExplanation is one candidate's view of the same count.
type CandidateExplanation struct {
	Threshold, Limit uint32
	Over             bool
}

// WideExplanation is a rule's view of a network around an address's key.
type WideExplanation struct {
	rules.Width
	Prefix netip.Prefix
	// Count is what the network counts on this node: of each key in it no more
	// than the rule's limit. Of a rule that counts by attributes as well, it is
	// that of the attributes with the greatest count.
	Count uint32
}

// Explain returns the standing of addr at now with the blocklist and with every
// rule. It changes nothing. For meters that count by attributes it searches the
// whole table, so it is not for every request.
func (d *Detector) Explain(now time.Time, addr netip.Addr) Explanation {
	return d.explain(now, addr, math.MaxInt)
}

// glanced is how many keys with attributes Glance searches: half a millisecond.
const glanced = 10_000

// Glance is Explain for many addresses, or again and again: it searches no table with
// attributes that has more than ten thousand keys. Fifty rows of a list would each
// look at all keys.
func (d *Detector) Glance(now time.Time, addr netip.Addr) Explanation {
	return d.explain(now, addr, glanced)
}

func (d *Detector) explain(now time.Time, addr netip.Addr, searched int) Explanation {
	addr = addr.Unmap().WithZone("")
	out := Explanation{Addr: addr}
	if !addr.IsValid() {
		return out
	}
	standing, hit := d.standingOf(now, addr)
	out.Standing = standing
	if block := hit.Block(); block != nil {
		out.Block = *block
	}
	for i := range d.rules {
		out.Rules = append(out.Rules, d.explainRule(now, addr, i, searched))
	}
	return out
}

// ExplainKey returns a rule's view of a key without an address, with its attributes as shown; false if the rule has no
// such keys.
func (d *Detector) ExplainKey(now time.Time, rule, with string) (out RuleExplanation, ok bool) {
	i, ok := d.named[rule]
	if !ok || !d.meters[d.rules[i].Meter].Everybody {
		return out, false
	}
	m := &d.meters[d.rules[i].Meter]
	out = d.openExplanation(i, m.Key(netip.Addr{}, with))
	m.explainKey(&out, now, edgeguard.Everybody.Addr(), with)
	out.compareCandidates(&d.rules[i])
	return out, true
}

func (d *Detector) openExplanation(i int, key edgeguard.Key) RuleExplanation {
	r := &d.rules[i]
	m := &d.meters[r.Meter]
	return RuleExplanation{
		Rule: r.Name, Action: r.Action, Asked: d.asksFor(i), Key: key, Limit: r.Limit, Threshold: r.Threshold, Window: m.Window, Distinct: m.Distinct,
	}
}

func (x *RuleExplanation) compareCandidates(r *rule) {
	for _, c := range r.Candidates {
		x.Candidates = append(x.Candidates, CandidateExplanation{c.Threshold, c.Limit, x.Count > c.Limit})
	}
}

func (d *Detector) explainRule(now time.Time, addr netip.Addr, i, searched int) RuleExplanation {
	r := &d.rules[i]
	m := &d.meters[r.Meter]
	out := d.openExplanation(i, m.Key(addr, ""))
	switch {
	case len(m.Attributes) == 0:
		m.explainKey(&out, now, m.heldUnder(addr), "")
	case searched < math.MaxInt && m.proven.Stats().Keys+m.forgeable.Stats().Keys > searched:
		out.Unsearched = true
	default:
		m.explainKeys(&out, m.slotAt(seconds(now)))
	}
	if addr.Is6() && !out.Unsearched {
		out.Wide = m.explainWide(r, addr, m.slotAt(seconds(now)))
	}
	out.compareCandidates(r)
	if r.Action == edgeguard.ActionBlock {
		if len(r.Escalate) > 0 {
			out.Blocks = d.steps.lastStep(r.Name, out.Key.Prefix, now).Blocks
		}
		out.Next = r.Blocked(out.Blocks)
	}
	return out
}

// explainKey reads a key of an address.
func (m *meter) explainKey(out *RuleExplanation, now time.Time, addr netip.Addr, with string) {
	slot := m.slotAt(seconds(now))
	var known bool
	if out.Slots, known = m.proven.SlotsOf(addr, with, slot); known {
		out.Keys = 1
	}
	for _, n := range out.Slots {
		out.Count += uint32(n)
	}
	out.Forgeable = m.forgeable.Count(addr, with, slot)
	if out.Count > out.Limit {
		slots := m.proven.Until(addr, with, slot, out.Limit)
		out.Under = max(0, time.Unix(int64(slot+slots)*int64(m.Width), 0).Sub(now))
	}
}

// explainKeys looks for the keys of an address among those with attributes,
// and shows the one with the greatest count.
func (m *meter) explainKeys(out *RuleExplanation, slot uint32) {
	each := func(table *shard.Table) (greatest shard.Entry) {
		table.EachEntry(slot, func(e shard.Entry) bool {
			if e.Key.Prefix == out.Key.Prefix {
				out.Keys++
				if e.Count > greatest.Count {
					greatest = e
				}
			}
			return true
		})
		return greatest
	}
	out.Forgeable = each(m.forgeable).Count
	if best := each(m.proven); best.Count > 0 {
		out.Count = best.Count
		out.Slots, _ = m.proven.RingOf(best, slot)
	}
}
