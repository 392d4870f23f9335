// Package member ties a node's detector to what the fleet counts. The detector
// asks the aggregator at each count what the other nodes have counted. The
// aggregator reads the detector's tables for its pushes. A total that came back
// from Redis becomes a crossing of the detector's rules.
//
// It is pure, and transports nothing: aggregator/redis does.
package member

import (
	"net/netip"
	"strconv"
	"time"

	"edgeguard"
	"edgeguard/aggregator"
	"edgeguard/blocklist"
	"edgeguard/detector"
	"edgeguard/rules"
	"edgeguard/shard"
)

// Member is a detector that counts with its fleet. It is safe for concurrent
// use.
type Member struct {
	*detector.Detector
	Totals *aggregator.Totals

	list   *blocklist.List
	rules  []rules.Rule
	meters []rules.Meter
	index  map[uint64]int // of meters by fingerprint
}

// New returns a detector and its part in the fleet, which forgets what it counted of a
// prefix whose block is lifted. It sets Fleet, Rest and Until in d,
// and Meters in c; at a reload both have a Previous.
func New(d detector.Config, c aggregator.Config) *Member {
	m := &Member{list: d.List, rules: d.Rules.Rules, meters: d.Rules.Meters, index: make(map[uint64]int)}
	d.Fleet = func(meter int, op *shard.Op, count uint32) (rest uint32) { return m.Totals.Count(meter, op, count) }
	d.Rest = func(meter int, op *shard.Op, count uint32) (rest uint32) {
		return m.Totals.RestOfFleet(meter, op, count)
	}
	d.Until = func(meter int, op *shard.Op, limit uint32) (least, most uint32) {
		return m.Totals.Until(meter, op, limit)
	}
	lifted := d.Lifted
	d.Lifted = func(now time.Time, rule string, prefix netip.Prefix) {
		m.Totals.Pardoned(prefix, now)
		if lifted != nil {
			lifted(now, rule, prefix)
		}
	}
	m.Detector = detector.New(d)
	limits := m.FleetLimits()
	c.Meters = make([]aggregator.Meter, len(m.meters))
	for i := range m.meters {
		meter := &m.meters[i]
		id := fingerprint(meter)
		m.index[id] = i
		c.Meters[i] = aggregator.Meter{Fingerprint: id, Width: meter.Width, Limit: limits[i],
			V4: meter.V4, V6: meter.V6, With: len(meter.Attributes) > 0, Everybody: meter.Everybody, Table: m.proven(meter), Renews: m.renews(i), SparesOutages: meter.SparesOutages()}
	}
	m.Totals = aggregator.New(c)
	return m
}

// fingerprint returns a meter's fingerprint as a number; rules promises 16 hex
// digits.
func fingerprint(m *rules.Meter) uint64 {
	id, _ := strconv.ParseUint(m.Fingerprint, 16, 64)
	return id
}

// renews returns the least limit of the rules of scope fleet that act at each event while a
// meter's count is over it, 0 if there are none: that deny, or extend a block. The others
// block once, or report.
func (m *Member) renews(meter int) (least uint32) {
	for i := range m.rules {
		r := &m.rules[i]
		if r.Meter == meter && r.Scope == rules.ScopeFleet && (r.Action == edgeguard.ActionDeny || r.WhileOver) && (least == 0 || r.Limit < least) {
			least = r.Limit
		}
	}
	return least
}

// proven returns the table that counts a meter's proven evidence.
func (m *Member) proven(meter *rules.Meter) *shard.Table {
	for _, t := range m.Tables() {
		if t.Meter == meter && !t.Forgeable && t.Wide == 0 {
			return t.Table
		}
	}
	return nil
}

// Width returns the slot of the meter with this fingerprint, in seconds; 0 if
// there is none.
func (m *Member) Width(meter uint64) uint32 {
	if i, ok := m.index[meter]; ok {
		return m.meters[i].Width
	}
	return 0
}

// KeyOfBlock returns the key under which a block of prefix by the named rule was
// counted; false if the rule is not this node's, or counts otherwise.
func (m *Member) KeyOfBlock(rule string, prefix netip.Prefix) (aggregator.Key, bool) {
	for i := range m.rules {
		r := &m.rules[i]
		if meter := &m.meters[r.Meter]; r.Name == rule && r.Scope == rules.ScopeFleet && prefix.IsValid() &&
			meter.CountsAddresses() && meter.Key(prefix.Addr(), "").Prefix == prefix {
			return aggregator.Key{Meter: fingerprint(meter), Prefix: prefix}, true
		}
	}
	return aggregator.Key{}, false
}

// ApplyFleetCount applies a fleet's count that is over the lowest limit of its meter, see
// [detector.Detector.FleetCount]. It ignores a meter that this node does not
// have.
func (m *Member) ApplyFleetCount(now time.Time, key aggregator.Key, peak uint32, split []aggregator.NodeCount) {
	if i, ok := m.index[key.Meter]; ok {
		m.FleetCount(now, i, key.Prefix, key.With, peak, aggregator.SplitReason(split, m.meters[i].MeasureOf()))
	}
}

// Settled reports whether Over would change nothing, see
// [detector.Detector.Settled].
func (m *Member) Settled(now time.Time, key aggregator.Key, peak uint32) bool {
	i, ok := m.index[key.Meter]
	return ok && m.Detector.Settled(now, i, key.Prefix, key.With, peak)
}

// Clear forgets counts, see [detector.Detector.Clear].
func (m *Member) Clear(now time.Time, prefixes ...netip.Prefix) (forgotten int) {
	for _, one := range prefixes {
		m.Totals.Cleared(one, now)
	}
	return m.Detector.Clear(now, prefixes...)
}

// Restored reports that the tables were filled with what an earlier boot had counted, and
// that this process counts from now on, under another boot. Nothing else may use the tables
// meanwhile. See [aggregator.Totals.Restored].
func (m *Member) Restored(now time.Time) {
	m.Detector.Resumed(now)
	m.Totals.Restored(now)
}

// Pardon forgets counts, see [detector.Detector.Pardon].
func (m *Member) Pardon(now time.Time, rule string, prefix netip.Prefix) {
	m.Totals.Pardoned(prefix, now)
	m.Detector.Pardon(now, rule, prefix)
}

// Blocked reports whether one block in force covers the key. A key with
// attributes is never blocked.
func (m *Member) Blocked(now time.Time, key aggregator.Key) bool {
	return key.With == 0 && key.HasAddress() && m.list.Covers(now, key.Prefix)
}
