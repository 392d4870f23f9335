package status

import (
	"slices"
	"time"

	"edgeguard"
	"edgeguard/admin/watch"
	"edgeguard/detector"
)

// Figures implements admin.Reader. They hold nothing that operators wrote.
func (s *Status) Figures(now time.Time, k watch.Key) watch.Figures {
	f, blockedBy := watch.Figures{Prefix: k.Prefix}, ""
	if found := append(s.Find(now, k.Prefix), s.ImportedAround(now, k.Prefix)...); len(found) > 0 {
		b := s.Active(found[:1])[0]
		f.Until, f.Refused, f.RefusedBy = b.Until, b.Refused, b.RefusedBy
		if b.Rule != edgeguard.ManualRule {
			blockedBy = b.Rule
		}
	}
	g := s.from.Current()
	rules := g.Detector.Glance(s.from.Clock.Local(now), k.Prefix.Addr()).Rules
	at := pick(rules, k, blockedBy)
	if at < 0 {
		return f
	}
	c := ruleCount(g.Config.Rules, &rules[at])
	f.Rule, f.Count, f.Limit, f.Unit, f.Window = c.Rule, c.Count, c.Limit, c.Unit, c.Window
	f.Slots = c.Slots[len(c.Slots)-k.Slots:]
	width := int64(c.Window / len(c.Slots))
	f.SlotBegan = time.Unix(now.Unix()/width*width, 0).UTC()
	return f
}

// pick returns the rule whose counts are shown for a key: the one asked for, else the one
// that made its block, else the one nearest to its limit; -1 if there is none. For a network
// only rules count that count all of it as one.
func pick(rules []detector.RuleExplanation, k watch.Key, blockedBy string) int {
	fits := func(r *detector.RuleExplanation) bool {
		return !r.Unsearched && r.Key.Prefix.IsValid() && (k.Prefix.IsSingleIP() || r.Key.Prefix == k.Prefix)
	}
	for _, name := range []string{k.Rule, blockedBy} {
		if name != "" {
			return slices.IndexFunc(rules, func(r detector.RuleExplanation) bool { return r.Rule == name && fits(&r) })
		}
	}
	nearest := -1
	for i := range rules {
		r := &rules[i]
		if fits(r) && (nearest < 0 || uint64(r.Count)*uint64(rules[nearest].Limit) > uint64(rules[nearest].Count)*uint64(r.Limit)) {
			nearest = i
		}
	}
	return nearest
}
