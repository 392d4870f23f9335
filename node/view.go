package node

import (
	"context"
	"iter"
	"net/netip"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/aggregator"
	"edgeguard/blocklist"
	"edgeguard/detector"
)

// view is the node as the admin API sees it: an admin.Reader and an admin.Operator. Its times are the
// epoch's, as people and other programs know them; the node's own may differ
// after a step of the wall clock.
type view struct{ *Node }

// Now implements admin.Reader.
func (v view) Now() time.Time { return v.clock.Epoch(v.clock.Now()) }

// outward gives a block with the epoch's times, inward with the node's.
func (v view) outward(b edgeguard.Block) edgeguard.Block {
	b.Since, b.Until = v.clock.Epoch(b.Since), v.clock.Epoch(b.Until)
	return b
}

func (v view) inward(b edgeguard.Block) edgeguard.Block {
	b.Since, b.Until = v.clock.Local(b.Since), v.clock.Local(b.Until)
	return b
}

// Blocks implements admin.Reader.
func (v view) Blocks(now time.Time, from netip.Prefix) iter.Seq[edgeguard.Block] {
	return func(yield func(edgeguard.Block) bool) {
		for b := range v.list.AllFrom(v.clock.Local(now), from) {
			if !yield(v.outward(b)) {
				return
			}
		}
	}
}

// Find implements admin.Reader.
func (v view) Find(now time.Time, prefix netip.Prefix) []edgeguard.Block {
	found := v.list.Around(v.clock.Local(now), prefix)
	for i := range found {
		found[i] = v.outward(found[i])
	}
	return found
}

// Block implements admin.Operator.
func (v view) Block(b edgeguard.Block, force bool) (edgeguard.Block, error) {
	if !force {
		now := v.clock.Now()
		if share, limit, yes := v.hold.TooMuch(now, v.pipeline.Current().Detector, b.Prefix); yes {
			return b, &admin.TooMuchError{Prefix: b.Prefix, Share: share, Limit: limit}
		}
	}
	b.Allow, b.Version = false, v.hold.Version(b.Prefix)+1
	return v.add(b, force)
}

// Unblock implements admin.Operator.
func (v view) Unblock(prefix netip.Prefix, reason string) (edgeguard.Block, bool) {
	now := v.clock.Now()
	node := v.pipeline.Current().Config.Node
	lifted, ok := v.list.Lift(prefix, now, reason, node)
	if !ok {
		lifted, ok = v.hold.Withdraw(now, prefix, reason, node)
	}
	if ok {
		v.pipeline.Current().Detector.Clear(now, prefix)
	}
	return v.outward(lifted), ok
}

// Explain implements admin.Reader.
func (v view) Explain(now time.Time, addr netip.Addr) admin.Explanation {
	core := v.pipeline.Current()
	e := core.Detector.Explain(v.clock.Local(now), addr)
	out := admin.Explanation{Address: e.Addr, Time: now, Standing: e.Standing.String(), Because: v.because(e.Standing, e.Addr)}
	if e.Standing == blocklist.Blocked {
		b := admin.NewBlock(v.outward(e.Block))
		out.Block = &b
	}
	for i := range e.Rules {
		count := ruleCount(&e.Rules[i])
		count.Scope = scope(core.Config, i)
		out.Rules = append(out.Rules, count)
	}
	return out
}

// FleetCounts implements admin.Reader.
func (v view) FleetCounts(ctx context.Context, keys []admin.FleetKey, settle bool) []*admin.FleetCount {
	out := make([]*admin.FleetCount, len(keys))
	link, member := v.link(), v.pipeline.Current().Member
	if link == nil || member == nil || !link.Up() {
		return out
	}
	var asked []aggregator.Key
	var of []int
	for i, k := range keys {
		if key, ok := member.Key(k.Rule, k.Prefix); ok {
			asked, of = append(asked, key), append(of, i)
		}
	}
	if len(asked) == 0 {
		return out
	}
	all, err := link.Shares(ctx, asked, settle)
	if err != nil {
		return out // the link tells of its Redis by itself
	}
	for i, shares := range all {
		count := &admin.FleetCount{Nodes: []admin.NodeCount{}}
		for _, s := range shares {
			count.Count += s.Count
			count.Nodes = append(count.Nodes, admin.NodeCount{Node: s.Node, Count: s.Count})
		}
		out[of[i]] = count
	}
	return out
}

// ruleCount gives one rule's view of an address as the API shows it.
func ruleCount(r *detector.RuleExplanation) admin.RuleCount {
	out := admin.RuleCount{
		Rule: r.Rule, Key: r.Key.String(), Action: r.Action, Count: r.Count, Limit: r.Limit, Threshold: r.Threshold,
		Window: int(r.Window / time.Second), Slots: r.Slots[:], Under: seconds(r.Under),
	}
	if r.Count == 0 && r.Forgeable > 0 {
		out.Count, out.Forgeable = r.Forgeable, true
	}
	for _, w := range r.Wide {
		out.Wide = append(out.Wide, admin.WideCount{Prefix: w.Prefix, Count: w.Count, Limit: w.Limit, Times: w.Times, Action: w.Does()})
	}
	for _, c := range r.Candidates {
		out.Candidates = append(out.Candidates, admin.CandidateCount{Threshold: c.Threshold, Limit: c.Limit, Over: c.Over})
	}
	return out
}

// seconds rounds up: after as many, it is over.
func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }

// because says what an address that is spared owes it to.
func (v view) because(standing blocklist.Standing, addr netip.Addr) string {
	switch standing {
	case blocklist.Allowed:
		return v.allowance(addr)
	case blocklist.Protected:
		return v.protection(addr)
	}
	return ""
}

// Reload implements admin.Operator.
func (v view) Reload(context.Context) error { return v.Node.Reload() }
