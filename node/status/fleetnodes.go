package status

import (
	"edgeguard/admin"
	"edgeguard/admin/watch"
	"edgeguard/aggregator"
	"edgeguard/aggregator/fleet"
)

// FleetNodes implements admin.Reader.
func (s *Status) FleetNodes(asked ...watch.Span) []admin.FleetNode {
	if s.from.Current().Config.Fleet == nil {
		return nil
	}
	said, now := make(map[string]fleet.Said), s.from.Clock.Now()
	spans := make([]aggregator.Span, len(asked))
	for i := range asked {
		spans[i] = aggregator.Span(asked[i])
	}
	for _, f := range s.from.Said(spans...) {
		said[f.Node] = f
	}
	nodes := s.from.Nodes()
	for i := range nodes {
		n := &nodes[i]
		if f, ok := said[n.Name]; ok && n.Alive && f.Boot == n.Boot {
			n.Figures = &admin.FleetFigures{
				Age: max(now.Sub(f.LastSeen).Seconds(), 0), Signed: f.Signed, Blocks: f.Blocks, Refused: f.Refused, Memory: f.Memory, Alarms: f.Alarms, Rules: f.Rules, Attacks: f.Attacks, Spans: minutesOf(f.Spans, n.Monitor),
			}
		}
	}
	return nodes
}

// Own returns this node's figures, with those of spans.
func (s *Status) Own(asked []aggregator.Span) fleet.Figures {
	m, memory := s.from.Minute(), s.from.Memory()
	used, limit := memory.Used+s.from.Samples.Used(), memory.Limit+s.from.Samples.Most()
	return fleet.Figures{
		Blocks: uint32(min(m.Blocks, 1<<32-1)), Refused: m.Denied, Memory: float64(used) / float64(max(limit, 1)),
		Alarms: uint16(min(len(s.from.Conditions()), 1<<16-1)), Rules: s.from.Current().Config.RulesDigest(), Attacks: s.from.Attacks(), Spans: spansOf(s.from.Day(), s.Now(), asked),
	}
}
