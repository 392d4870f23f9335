package detector

import (
	"fmt"
	"math"
	"net/netip"
	"time"

	"edgeguard"
	"edgeguard/internal/unsafetext"
	"edgeguard/rules"
	"edgeguard/shard"
)

// wide adds up the keys of a meter by an IPv6 network around them, a /56 or a
// /48: whoever has many /64s is under the limit in each of them.
//
// Of one key, no more than the limit is added in a window (see shareOf). A home
// or a phone that is refused and goes on anyway would otherwise bring the
// network of its neighbours over the limit all by itself. Nothing is lost by
// it: what a network was served is still counted, event for event.
//
// Only proven evidence is counted, and only this node's: these counts are
// never sent to the fleet.
type wide struct {
	*shard.Table
	bits  uint8
	least uint32 // of the limits of the meter's rules
}

// prefix returns the network around addr.
func (w *wide) prefix(addr netip.Addr) netip.Prefix {
	p, _ := addr.Prefix(int(w.bits)) // no error: addr is IPv6
	return p
}

// widen makes the tables that the meter's rules ask for, except those that
// were taken over.
func (m *meter) widen(c *Config) {
	former := m.wide
	m.wide, m.share = nil, m.shareOf(c.Rules.Rules)
	for _, i := range m.rules {
		r := &c.Rules.Rules[i]
		for k, width := range r.Widths { // the same sizes for all rules of the meter
			if k == len(m.wide) {
				m.wide = append(m.wide, wide{Table: m.wideTable(c, former, width.Bits), bits: width.Bits, least: math.MaxUint32})
			}
			m.wide[k].least = min(m.wide[k].least, width.Limit)
		}
	}
}

// shareOf returns what one key adds to the networks around it in a window, at
// most: the least limit of the meter's rules that refuse. What is above it was
// not served. Where none refuses, it is the greatest limit.
func (m *meter) shareOf(all []rules.Rule) uint32 {
	least, greatest := uint32(math.MaxUint32), uint32(0)
	for _, i := range m.rules {
		r := &all[i]
		if r.Action >= edgeguard.ActionDeny {
			least = min(least, r.Limit)
		}
		greatest = max(greatest, r.Limit)
	}
	return min(least, greatest)
}

// wideTable returns the table for networks of this size.
func (m *meter) wideTable(c *Config, former []wide, bits uint8) *shard.Table {
	for i := range former {
		if former[i].bits == bits {
			return former[i].Table
		}
	}
	config := m.tableConfig(c)
	config.V4, config.V6, config.FewV4 = 0, bits, true
	return shard.New(c.Memory, config)
}

// part is what an event adds to the networks around its key: its cost, until
// the key has come to its share.
func (m *meter) part(own count) uint16 {
	if m.Distinct != 0 {
		if own.count > m.share {
			return 0 // so that no key shows its networks more in a window
		}
		return own.cost
	}
	before := own.count - min(own.count, uint32(own.added))
	return uint16(min(own.count, m.share) - min(before, m.share))
}

// countWide counts an IPv6 event in the networks around its key, of which own
// is the count, and keeps what comes out.
func (c *counting) countWide(m *meter, own count) {
	if c.event.Verified&m.Kind == 0 {
		return
	}
	op := shard.Op{Addr: c.event.Addr, Now: m.slotAt(c.nowSec), Slot: m.slotAt(c.eventSec), Cost: m.part(own)}
	if op.Cost == 0 || m.Distinct != 0 && !m.setShownValue(&op, c.event, &c.shown) {
		return
	}
	var buf [attributesSize]byte
	with, _ := m.attributes(c.event, buf[:0]) // known, or the key had not been counted
	op.With = unsafetext.String(with)
	for k := range m.wide {
		if n, late := answered(m.wide[k].Add(&op), op.Cost); !late {
			c.noteWideCount(m, k, n)
		}
	}
}

// compareWideCount compares the count of a network with what rule i allows it.
func (c *decision) compareWideCount(m *meter, i, k int, n count) {
	r := &c.d.rules[i]
	if k >= len(r.Widths) || n.count <= r.Widths[k].Limit {
		return
	}
	width := &r.Widths[k]
	c.overLimit(m, &excess{count: n, rule: i, prefix: m.wide[k].prefix(c.event.Addr), limit: width.Limit, width: width, crossed: n.crossed(width.Limit)})
}

// reason says why a prefix is blocked.
func (x *excess) reason(m *meter, r *rules.Rule) string {
	if x.width != nil {
		return reasonWide(x.width)
	}
	return m.reason(x.count, r)
}

// reasonWide says why a network is blocked, whose parts are not.
func reasonWide(w *rules.Width) string {
	return fmt.Sprintf("over %d times the limit in one /%d", w.Times, w.Bits)
}

// retryWide is how long until one more event like this one would be let
// through, if nothing else came from the network.
func (o *occasion) retryWide(m *meter, x *excess) time.Duration {
	var buf [attributesSize]byte
	with, _ := m.attributes(o.event, buf[:0])
	source, limit, cost := o.d.source(&o.d.rules[x.rule], x.prefix), x.limit, min(o.costOf(m), m.share)
	_, most := o.d.countFallsTo(&source, o.event.Addr, unsafetext.String(with), o.nowSec, limit-min(limit, cost))
	return most.Sub(o.now)
}

// explainWide returns the counts of the networks around addr for rule r.
func (m *meter) explainWide(r *rule, addr netip.Addr, slot uint32) (out []WideExplanation) {
	for k, width := range r.Widths {
		w := &m.wide[k]
		x := WideExplanation{Width: width, Prefix: w.prefix(addr)}
		if len(m.Attributes) == 0 {
			x.Count = w.Count(addr, "", slot)
		} else {
			w.EachEntry(slot, func(e shard.Entry) bool {
				if e.Key.Prefix == x.Prefix {
					x.Count = max(x.Count, e.Count)
				}
				return true
			})
		}
		out = append(out, x)
	}
	return out
}

// countWide adds the ops that the meter's own table has just counted up in the
// networks around their keys.
func (b *batch) countWide(m *meter) {
	kept := 0
	for k, i := range b.at {
		if !b.six.has(int(i)) || !b.counted[m.index].has(int(i)) {
			continue
		}
		if part := m.part(b.counts[m.index][i]); part > 0 {
			b.ops[kept], b.at[kept] = b.ops[k], i
			b.ops[kept].Cost = part
			kept++
		}
	}
	b.ops, b.at = b.ops[:kept], b.at[:kept]
	for k := range m.wide {
		m.wide[k].AddBatch(b.ops, b.outs[:kept])
		b.noteWide(m, k)
	}
}

// wideCounts holds what one size of network of a meter counted, of the events
// in counted.
type wideCounts struct {
	counts  [batchSize]count
	counted eventSet
}

// noteWide keeps a wide table's answers.
func (b *batch) noteWide(m *meter, k int) {
	w := &b.wide[m.index][k]
	for j, i := range b.at {
		n, late := answered(b.outs[j], b.ops[j].Cost)
		if late {
			continue
		}
		w.counts[i] = n
		w.counted.add(int(i))
		if n.count > m.wide[k].least {
			b.over.add(int(i))
		}
	}
}

// noteWideCounts notes the counts of the networks around an event's key of one meter.
func (b *batch) noteWideCounts(c *counting, m *meter, i int) {
	for k := range b.wide[m.index] {
		if w := &b.wide[m.index][k]; w.counted.has(i) {
			c.noteWideCount(m, k, w.counts[i])
		}
	}
}
