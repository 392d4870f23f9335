package node

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/clockguard"
	"edgeguard/detector"
	"edgeguard/node/pipeline"
	"edgeguard/rules"
	"edgeguard/shard"
	"edgeguard/tuning"
)

// Rules implements admin.Reader.
func (v view) Rules() []admin.Rule {
	core := v.pipeline.Current()
	set := core.Config.Rules
	out := make([]admin.Rule, 0, len(set.Rules))
	for i := range set.Rules {
		r := &set.Rules[i]
		m := &set.Meters[r.Meter]
		shown := admin.Rule{
			Name: r.Name, Kind: m.Kind.String(), Key: keyName(m), Window: int(m.Window / time.Second),
			Threshold: r.Threshold, Guard: r.Guard.String(), Limit: r.Limit, Action: r.Action.String(),
			Scope: scope(core.Config, i),
		}
		if r.Action == edgeguard.ActionBlock {
			shown.BlockFor = int(r.BlockFor / time.Second)
		}
		shown.Crossings = v.crossingsOf(r, 0)
		for k := range r.Widths {
			w := &r.Widths[k]
			shown.Wide = append(shown.Wide, admin.Wide{Bits: int(w.Bits), Limit: w.Limit, Times: w.Times, Action: w.Does(), Crossings: v.crossingsOf(r, w.Bits)})
		}
		for _, t := range core.Detector.Tallies(i) {
			shown.Candidates = append(shown.Candidates, admin.Candidate{Threshold: t.Threshold, Limit: t.Limit, Over: t.Over, Crossings: t.Crossings})
		}
		out = append(out, shown)
	}
	return out
}

// crossingsOf gives how often keys of a rule went over, or networks of this size
// around them.
func (v view) crossingsOf(r *rules.Rule, wide uint8) (out []admin.Crossings) {
	for _, action := range []edgeguard.Action{edgeguard.ActionShadow, edgeguard.ActionDeny, edgeguard.ActionBlock, edgeguard.ActionAlarm} {
		if n := v.pipeline.Crossings.Count(pipeline.Count{Action: action, Rule: r.Name, Wide: wide}); n > 0 {
			out = append(out, admin.Crossings{Action: action.String(), Count: n})
		}
	}
	return out
}

// keyName says in words what a meter counts together.
func keyName(m *rules.Meter) string {
	name := "address"
	if m.V4 != rules.DefaultV4 || m.V6 != rules.DefaultV6 {
		name = fmt.Sprintf("address /%d, /%d", m.V4, m.V6)
	}
	for _, a := range m.Attributes {
		name += ", " + a.String()
	}
	return name
}

// Counts implements admin.Reader.
func (v view) Counts(now time.Time, rule string, n int) (admin.Counts, bool) {
	core := v.pipeline.Current()
	i := slices.IndexFunc(core.Config.Rules.Rules, func(r rules.Rule) bool { return r.Name == rule })
	if i < 0 {
		return admin.Counts{}, false
	}
	r := &core.Config.Rules.Rules[i]
	out := admin.Counts{Distribution: &tuning.Distribution{}}
	top := leaders{most: n}
	for key, count := range proven(core.Detector, &core.Config.Rules.Meters[r.Meter], v.clock.Local(now)) {
		out.Distribution.Add(count)
		top.offer(admin.KeyCount{Rule: r.Name, Key: key, Count: count, Limit: r.Limit})
	}
	out.Top = top.sorted()
	return out, true
}

// Top implements admin.Reader.
func (v view) Top(now time.Time, n int) []admin.KeyCount {
	core := v.pipeline.Current()
	top := leaders{most: n}
	for m := range core.Config.Rules.Meters {
		meter := &core.Config.Rules.Meters[m]
		for key, count := range proven(core.Detector, meter, v.clock.Local(now)) {
			for _, i := range meter.Rules {
				r := &core.Config.Rules.Rules[i]
				top.offer(admin.KeyCount{Rule: r.Name, Key: key, Count: count, Limit: r.Limit})
			}
		}
	}
	return top.sorted()
}

// proven gives the keys of a meter and what they count on evidence that cannot
// be forged.
func proven(d *detector.Detector, m *rules.Meter, now time.Time) func(yield func(edgeguard.Key, uint32) bool) {
	tables := d.Tables()
	return func(yield func(edgeguard.Key, uint32) bool) {
		for i := range tables {
			t := &tables[i]
			if t.Forgeable || t.Wide > 0 || t.Meter != m {
				continue
			}
			t.Each(clockguard.Slot(now, m.Width), func(e shard.Entry) bool {
				if e.Count == 0 {
					return true
				}
				if len(m.Attributes) > 0 {
					// The table holds a fingerprint of the attributes and not
					// the text, which a client writes and can make as long as
					// it likes.
					e.Key.With = fmt.Sprintf("%s#%08x", attributes(m), uint32(e.With))
				}
				return yield(e.Key, e.Count)
			})
		}
	}
}

// attributes names what is part of a meter's key besides the address.
func attributes(m *rules.Meter) string {
	names := make([]string, 0, len(m.Attributes))
	for _, a := range m.Attributes {
		names = append(names, a.String())
	}
	return strings.Join(names, ",")
}

// leaders keeps the keys that are nearest to their limits, or furthest above.
type leaders struct {
	most int
	keys []admin.KeyCount
}

// nearness orders keys, the nearest first, and equal ones by their names.
func nearness(a, b admin.KeyCount) int {
	return cmp.Or(
		cmp.Compare(uint64(b.Count)*uint64(a.Limit), uint64(a.Count)*uint64(b.Limit)),
		cmp.Compare(b.Count, a.Count),
		a.Key.Prefix.Compare(b.Key.Prefix),
		cmp.Compare(a.Rule, b.Rule),
	)
}

// offer takes a key if it is among the leaders so far. Room for twice as many
// is sorted at a time, so that an offer costs a comparison or two.
func (l *leaders) offer(k admin.KeyCount) {
	if l.most <= 0 {
		return
	}
	l.keys = append(l.keys, k)
	if len(l.keys) >= 2*l.most+64 {
		l.keys = l.sorted()
	}
}

func (l *leaders) sorted() []admin.KeyCount {
	slices.SortFunc(l.keys, nearness)
	return l.keys[:min(len(l.keys), max(l.most, 0))]
}
