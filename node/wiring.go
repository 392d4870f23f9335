package node

import (
	"context"

	"edgeguard/admin"
	"edgeguard/aggregator"
	"edgeguard/node/status"
)

// sources is what the admin API reads of the node.
func (n *Node) sources() status.Sources {
	return status.Sources{
		Version: n.options.Version, Begun: n.begun, Clock: n.clock, List: n.list, Quarantine: n.hold, Memory: n.memory.Stats,
		Current: n.generation, Verdicts: n.pipeline.Verdicts.Each, Crossings: n.pipeline.Crossings.Count,
		Conditions: n.alarms.lasting, Report: n.report, Why: n.protection,
		Nodes: func() []admin.FleetNode { return n.heard.nodes(n.clock.Now()) }, Shares: n.shares,
	}
}

// generation returns the generation in force, as the admin API reads it.
func (n *Node) generation() status.Generation {
	g := n.pipeline.Current()
	out := status.Generation{Config: g.Config, Detector: g.Detector}
	if g.Member != nil {
		out.Totals, out.Key = g.Member.Totals, g.Member.Key
	}
	return out
}

// report adds the figures of all parts.
func (n *Node) report(s *admin.Stats) {
	s.Ready = n.ready.Load()
	s.Reload, s.Snapshot, s.Uncounted = n.reloads.figures(n.clock), n.stateFigures(), n.uncounted.figures()
	n.auths.report(s)
	n.logs.report(s)
	n.outlets.report(s)
	n.fleets.report(s)
}

// shares returns what each node of the fleet counts of keys; nil where Redis
// cannot be asked, which the link reports itself.
func (n *Node) shares(ctx context.Context, keys []aggregator.Key, settle bool) [][]admin.NodeCount {
	link := n.link()
	if link == nil || !link.Up() {
		return nil
	}
	all, err := link.Shares(ctx, keys, settle)
	if err != nil {
		return nil
	}
	out := make([][]admin.NodeCount, len(all))
	for i, shares := range all {
		for _, s := range shares {
			out[i] = append(out[i], admin.NodeCount{Node: s.Node, Count: s.Count})
		}
	}
	return out
}

var (
	_ admin.Reader   = (*status.Status)(nil)
	_ admin.Operator = (*operator)(nil)
)
