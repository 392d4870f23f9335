package status

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/aggregator"
	"edgeguard/blocklist"
	"edgeguard/config"
	"edgeguard/detector"
	"edgeguard/rules"
)

// Explain implements admin.Reader.
func (s *Status) Explain(now time.Time, addr netip.Addr) admin.Explanation {
	g := s.from.Current()
	e := g.Detector.Explain(s.from.Clock.Local(now), addr)
	out := admin.Explanation{Address: e.Addr, Time: now, Standing: e.Standing.String(), Because: s.because(g.Config, e.Standing, e.Addr)}
	if e.Standing == blocklist.Blocked {
		out.Block = &s.Active([]edgeguard.Block{s.Outward(e.Block)})[0]
	}
	for i := range e.Rules {
		if !e.Rules[i].Key.Prefix.IsValid() {
			continue // what everybody counts says nothing of an address
		}
		count := ruleCount(g.Config.Rules, &e.Rules[i])
		count.Scope = scope(g.Config, i)
		out.Rules = append(out.Rules, count)
	}
	return out
}

// MayBeCustomer implements admin.Reader.
func (s *Status) MayBeCustomer(prefix netip.Prefix) bool {
	return s.from.MayBeCustomer(s.from.Clock.Now(), prefix)
}

// ExplainKey implements admin.Reader.
func (s *Status) ExplainKey(now time.Time, rule, with string) (admin.RuleCount, bool) {
	g := s.from.Current()
	e, ok := g.Detector.ExplainKey(s.from.Clock.Local(now), rule, with)
	if !ok {
		return admin.RuleCount{}, false
	}
	count, i := ruleCount(g.Config.Rules, &e), slices.IndexFunc(g.Config.Rules.Rules, func(r rules.Rule) bool { return r.Name == rule })
	count.Scope = scope(g.Config, i)
	r := &g.Config.Rules.Rules[i]
	if count.Learned = s.learned(r, &g.Config.Rules.Meters[r.Meter]); r.Pending {
		count.Limit = r.Guard.Limit(r.Threshold) // the greatest that it can learn
	}
	return count, true
}

// Glance implements admin.Reader.
func (s *Status) Glance(now time.Time, addr netip.Addr) (standing string, counts []admin.RuleCount) {
	g := s.from.Current()
	e := g.Detector.Glance(s.from.Clock.Local(now), addr)
	for i := range e.Rules {
		if !e.Rules[i].Unsearched && e.Rules[i].Key.Prefix.IsValid() {
			counts = append(counts, ruleCount(g.Config.Rules, &e.Rules[i]))
		}
	}
	return e.Standing.String(), counts
}

// ruleCount returns one rule's count of an address as the API shows it.
func ruleCount(set *rules.Set, r *detector.RuleExplanation) admin.RuleCount {
	out := admin.RuleCount{
		Rule: r.Rule, Key: r.Key.String(), Action: r.Action, Asked: r.Asked, Count: r.Count, Limit: r.Limit, Threshold: r.Threshold, Unit: set.MeasureOf(r.Rule),
		Distinct: r.Distinct.String(), Window: int(r.Window / time.Second), Slots: r.Slots[:], Under: seconds(r.Under),
	}
	if r.Count == 0 && r.Forgeable > 0 {
		out.Count, out.Forgeable = r.Forgeable, true
	}
	for _, w := range r.Wide {
		out.Wide = append(out.Wide, admin.WideCount{Prefix: w.Prefix, Count: w.Count, Limit: w.Limit, Times: w.Times, Action: w.ActionName()})
	}
	for _, c := range r.Candidates {
		out.Candidates = append(out.Candidates, admin.CandidateCount{Threshold: c.Threshold, Limit: c.Limit, Over: c.Over})
	}
	return out
}

// seconds rounds up, so that the span has ended after that many.
func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }

// scope returns whose counts a rule's limit is for, in the API's words.
func scope(c *config.Config, rule int) string {
	if c.Fleet == nil {
		return ""
	}
	return c.Rules.Rules[rule].Scope.String()
}

// because returns why an address is not blocked as others are; empty for any other.
func (s *Status) because(c *config.Config, standing blocklist.Standing, addr netip.Addr) string {
	switch standing {
	case blocklist.Allowed:
		return s.allowance(c, addr)
	case blocklist.Protected, blocklist.Peer, blocklist.None:
		return s.from.Why(addr)
	}
	return ""
}

// allowance returns which entry of the allowlist or which allowance exempts an
// address; empty for none.
func (s *Status) allowance(c *config.Config, addr netip.Addr) string {
	for _, p := range c.Allowlist {
		if p.Contains(addr) {
			return "allowlist " + p.String()
		}
	}
	a, ok := s.from.List.Allowance(s.from.Clock.Now(), netip.PrefixFrom(addr, addr.BitLen()))
	if !ok {
		return ""
	}
	text := fmt.Sprintf("allowance of %s, made on %s", a.Prefix, a.Origin)
	if a.Reason != "" {
		text += ": " + a.Reason
	}
	return text
}

// FleetCounts implements admin.Reader.
func (s *Status) FleetCounts(ctx context.Context, keys []admin.FleetKey, settle bool) []*admin.FleetCount {
	out := make([]*admin.FleetCount, len(keys))
	g := s.from.Current()
	if g.Key == nil {
		return out
	}
	var asked []aggregator.Key
	var of []int
	for i, k := range keys {
		if key, ok := g.Key(k.Rule, k.Prefix); ok {
			asked, of = append(asked, key), append(of, i)
		}
	}
	if len(asked) == 0 {
		return out
	}
	for i, shares := range s.from.Shares(ctx, asked, settle) {
		count := &admin.FleetCount{Nodes: append([]admin.NodeCount{}, shares...)}
		for _, one := range shares {
			count.Count += one.Count
		}
		out[of[i]] = count
	}
	return out
}
