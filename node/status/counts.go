package status

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/clockguard"
	"edgeguard/config"
	"edgeguard/detector"
	"edgeguard/node/pipeline"
	"edgeguard/rules"
	"edgeguard/shard"
	"edgeguard/tuning"
)

// Rules implements admin.Reader.
func (s *Status) Rules() []admin.Rule {
	g := s.from.Current()
	set := g.Config.Rules
	out := make([]admin.Rule, 0, len(set.Rules))
	for i := range set.Rules {
		r := &set.Rules[i]
		m := &set.Meters[r.Meter]
		shown := admin.Rule{
			Name: r.Name, Kind: m.Kind.String(), Key: keyName(m), Window: int(m.Window / time.Second),
			Threshold: r.Threshold, Guard: r.Guard.String(), Limit: r.Limit, Unit: m.MeasureOf(), Action: r.Action.String(),
			Scope: scope(g.Config, i), Distinct: m.Distinct.String(),
		}
		if r.Action == edgeguard.ActionBlock {
			shown.BlockFor = int(r.BlockFor / time.Second)
		}
		shown.Crossings, shown.SparesOutages, shown.Excused = s.crossingsOf(r, 0), m.SparesOutages(), g.Detector.UncountedInOutage(i)
		for k := range r.Widths {
			w := &r.Widths[k]
			shown.Wide = append(shown.Wide, admin.Wide{Bits: int(w.Bits), Limit: w.Limit, Times: w.Times, Action: w.ActionName(), Crossings: s.crossingsOf(r, w.Bits)})
		}
		if shown.Learned = s.learned(r, m); r.Pending {
			shown.Limit = r.Guard.Limit(r.Threshold) // the greatest that it can learn
		}
		s.addOverlay(&shown, g.Detector.Tallies(i))
		out = append(out, shown)
	}
	return out
}

// Unused implements admin.Reader.
func (s *Status) Unused() []admin.Unused { return s.from.Unused() }

// addOverlay adds a rule's candidates, and what operators changed of it.
func (s *Status) addOverlay(shown *admin.Rule, candidates []detector.Tally) {
	o := s.from.Overlay(shown.Name)
	for _, t := range candidates {
		added := slices.ContainsFunc(o.Candidates, func(c config.CandidateOverlay) bool { return c.Threshold == t.Threshold })
		shown.Candidates = append(shown.Candidates, admin.Candidate{
			Threshold: t.Threshold, Limit: t.Limit, Over: t.Over, Crossings: t.Crossings, Since: s.from.Clock.Epoch(t.Since).UTC(), Added: added,
		})
	}
	shown.Overlay, shown.Fleet = s.from.Layers(shown.Name)
}

// crossingsOf returns how often keys of a rule went over, or networks of this
// size around them.
func (s *Status) crossingsOf(r *rules.Rule, wide uint8) (out []admin.Crossings) {
	for _, action := range []edgeguard.Action{edgeguard.ActionShadow, edgeguard.ActionDeny, edgeguard.ActionBlock, edgeguard.ActionAlarm} {
		if n := s.from.Crossings(pipeline.Ruling{Action: action, Rule: r.Name, Wide: wide}); n > 0 {
			out = append(out, admin.Crossings{Action: action.String(), Count: n})
		}
	}
	if n := s.from.Crossings(pipeline.Ruling{Action: edgeguard.ActionShadow, Rule: r.Name, Wide: wide, Excused: true}); n > 0 {
		out = append(out, admin.Crossings{Action: admin.ActionExcused, Count: n})
	}
	return out
}

// keyName returns in words what a meter counts together.
func keyName(m *rules.Meter) string {
	name := "address"
	if m.Everybody {
		name = "everybody"
	}
	if m.V4 != rules.DefaultV4 || m.V6 != rules.DefaultV6 {
		name = fmt.Sprintf("address /%d, /%d", m.V4, m.V6)
	}
	for _, a := range m.Attributes {
		name += ", " + a.String()
	}
	return name
}

// Counts implements admin.Reader.
func (s *Status) Counts(now time.Time, rule string, n int) (admin.Counts, bool) {
	g := s.from.Current()
	i := slices.IndexFunc(g.Config.Rules.Rules, func(r rules.Rule) bool { return r.Name == rule })
	if i < 0 {
		return admin.Counts{}, false
	}
	r := &g.Config.Rules.Rules[i]
	m := &g.Config.Rules.Meters[r.Meter]
	words := tuning.ConfigOf(m)
	words.Live, words.Top, words.Events = true, max(n, tuning.DefaultTop), words.Unit.Many
	out := admin.Counts{Tally: tuning.NewTally(words), LimitOf: r.Guard.Limit, People: r.People}
	proven(g.Tables(), m, s.from.Clock.Local(now), func(count uint32) bool { return out.Tally.Count(m.TopCount(count)) },
		func(e *shard.Entry) { out.Tally.RecordLeader(s.keyOf(m, e), m.TopCount(e.Count)) })
	return out, true
}

// Top implements admin.Reader.
func (s *Status) Top(now time.Time, n int) []admin.KeyCount {
	g := s.from.Current()
	top, blocked := leaders{most: n}, s.blocked(s.from.Clock.Local(now))
	for m := range g.Config.Rules.Meters {
		meter := &g.Config.Rules.Meters[m]
		set, unit := g.Config.Rules.Rules, meter.MeasureOf()
		leads := func(count uint32) bool {
			return count > 0 && slices.ContainsFunc(meter.Rules, func(i int) bool { return top.takes(count, set[i].Limit) })
		}
		proven(g.Tables(), meter, s.from.Clock.Local(now), leads, func(e *shard.Entry) {
			if !meter.Everybody && blocked(e.Key.Prefix) { // here, as a flood of them would take all places
				return
			}
			key := s.keyOf(meter, e)
			for _, i := range meter.Rules {
				if set[i].Pending {
					continue // it has no limit to be near to
				}
				top.add(admin.KeyCount{Rule: set[i].Name, Key: key, Count: meter.TopCount(e.Count), Limit: set[i].Limit, Unit: unit})
			}
		})
	}
	return top.sorted()
}

// Inside implements admin.Reader. Of the rules that count addresses by themselves, it
// goes by the one that counts most in the prefix.
func (s *Status) Inside(now time.Time, prefix netip.Prefix) admin.Inside {
	g := s.from.Current()
	most := admin.Inside{Protected: s.from.List.ProtectedIn(prefix, admin.MostExempt)}
	for i := range g.Config.Rules.Meters {
		m := &g.Config.Rules.Meters[i]
		if !m.CountsAddresses() {
			continue
		}
		keys := 0
		counts := func(count uint32) bool { return count > 0 }
		proven(g.Tables(), m, s.from.Clock.Local(now), counts, func(e *shard.Entry) {
			if e.Key.Prefix.Overlaps(prefix) {
				keys++
			}
		})
		if keys > most.Keys {
			most.Keys, most.Window = keys, int(m.Window/time.Second)
		}
	}
	return most
}

// proven looks at what the keys of a meter count by evidence that cannot be forged:
// it calls wanted with each count, which may be 0, and each with the keys of those for
// which that returns true.
func proven(tables []MeterTable, m *rules.Meter, now time.Time, wanted func(count uint32) bool, each func(*shard.Entry)) {
	for i := range tables {
		t := &tables[i]
		if t.Forgeable || t.Wide > 0 || t.Meter != m {
			continue
		}
		t.Counts.Where(clockguard.Slot(now, m.Width), wanted, func(e shard.Entry) bool {
			each(&e)
			return true
		})
	}
}

// keyOf returns the key of an entry, whose attributes are a fingerprint: a client
// writes their text and can make it as long as it likes. Those of a key without an address are known near its limit.
func (s *Status) keyOf(m *rules.Meter, e *shard.Entry) edgeguard.Key {
	if m.Everybody && len(m.Attributes) > 0 {
		e.Key.With = s.from.With(e.With)
	}
	if len(m.Attributes) > 0 && e.Key.With == "" {
		e.Key.With = fmt.Sprintf("%s#%08x", attributes(m), uint32(e.With))
	}
	return e.Key
}

// attributes returns the names of a meter's attributes.
func attributes(m *rules.Meter) string {
	names := make([]string, 0, len(m.Attributes))
	for _, a := range m.Attributes {
		names = append(names, a.String())
	}
	return strings.Join(names, ",")
}
