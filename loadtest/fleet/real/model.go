package real

import (
	"context"
	"net/netip"
	"time"

	virtual "edgeguard/loadtest/fleet"
)

// model runs the same traffic on virtual time, and puts it beside what the processes
// did.
func (f *fleet) model(ctx context.Context, seed uint64, m *measured, r *Result) error {
	s, err := virtual.Simulate(ctx, virtual.Setup{Scenario: f.scenario, Seed: seed, Quiet: true})
	if err != nil {
		return err
	}
	v := &r.Virtual
	v.Push, v.Splits, v.Watches = count(s.Load("edgeguard1_push")), count(s.Load("edgeguard1_split")), count(s.Load("XADD"))
	v.Push.Compared = s.Reconciled
	byClient := map[uint32][]time.Duration{}
	t := &r.RealTime
	t.SameBlocks = true
	blocked := map[netip.Prefix]bool{}
	for _, b := range s.Blocks {
		if b.At > m.lasted {
			continue
		}
		blocked[prefix(b.Client)] = true
		byClient[b.Client] = append(byClient[b.Client], b.At-m.crossings[b.Client])
		if _, ok := f.nodes[b.Node].since(prefix(b.Client)); !ok {
			t.SameBlocks = false
		}
	}
	v.refuse(byClient, len(f.nodes))
	for _, n := range f.nodes {
		for prefix := range n.blocked {
			t.SameBlocks = t.SameBlocks && blocked[prefix]
		}
	}
	t.Compare = compare(v, &t.Side)
	return nil
}

// count is what the model counted of a command.
func count(l virtual.Load) Count {
	return Count{Calls: l.Calls, Keys: l.Keys, In: l.In, Out: l.Out}
}
