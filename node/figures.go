package node

import (
	"cmp"
	"slices"
	"time"

	"edgeguard/admin"
	"edgeguard/node/pipeline"
)

// Stats implements admin.Reader.
func (v view) Stats() admin.Stats {
	core := v.pipeline.Current()
	d := core.Detector.Stats()
	blocks := v.list.Stats()
	s := admin.Stats{
		Node: core.Config.Node, Version: v.options.Version, Monitor: core.Config.Monitor,
		Started: v.clock.Epoch(v.begun), Time: v.Now(), Ready: v.ready.Load(),
		Events: admin.Totals{
			Decided: d.Events, Passed: d.Passed, Shadowed: d.Shadowed, Denied: d.Denied, Spared: d.Spared, Late: d.Late, Early: d.Early,
		},
		V4: blocks.V4, V6: blocks.V6, Allowances: blocks.Allowances,
		MaxBlocks: blocks.Most, ByHand: blocks.ByHand, Evicted: blocks.Evicted, Forgotten: blocks.Forgotten,
		Tables: v.tables(core),
		Reload: v.reloadStats(), Snapshot: v.stateFigures(), Fleet: v.fleet(core),
	}
	for _, a := range v.alarms.lasting() {
		s.Conditions = append(s.Conditions, a.Text)
	}
	v.addSensors(&s)
	s.Uncounted = v.uncounted.figures()
	return s
}

// tables adds up the tables of all meters.
func (v view) tables(core *pipeline.Generation) admin.Tables {
	memory := v.memory.Stats()
	const page = 4096
	out := admin.Tables{Limit: memory.Limit, Used: memory.Used, Parts: map[string]int64{
		"keys": int64(memory.KeyPages) * page, "rings": int64(memory.RingPages) * page, "sketch": memory.Sketch,
	}}
	for _, t := range core.Detector.Tables() {
		s := t.Stats()
		out.Keys += s.Keys
		out.Rings += s.Rings
		out.Expired += s.Expired
		out.Evicted += s.Evicted
		out.Refused += s.Refused
		out.Squeezed += s.Squeezed
	}
	return out
}

func (v view) reloadStats() *admin.Reload {
	if v.reloads.done.Load()+v.reloads.failed.Load() == 0 {
		return nil
	}
	r := &admin.Reload{OK: true}
	if failed := v.reloads.error.Load(); failed != nil {
		r.OK, r.Error = false, *failed
	}
	if last := v.reloads.last.Load(); last != 0 {
		r.Success = v.clock.Epoch(time.Unix(0, last))
	}
	return r
}

// addSensors adds what the sensors saw.
func (v view) addSensors(s *admin.Stats) {
	v.auths.report(s)
	v.pipeline.Verdicts.Each(func(by pipeline.Count, n uint64) {
		s.Decisions = append(s.Decisions, admin.Decisions{Protocol: by.Source, Action: by.Action.String(), Rule: by.Rule, Count: n})
	})
	slices.SortFunc(s.Decisions, func(a, b admin.Decisions) int {
		return cmp.Or(cmp.Compare(a.Protocol, b.Protocol), cmp.Compare(a.Action, b.Action), cmp.Compare(a.Rule, b.Rule))
	})
	v.logs.report(s)
	v.outlets.report(s)
}

// handedIn gives how many events each source handed in.
func (n *Node) handedIn() []admin.Source {
	var s admin.Stats
	n.auths.report(&s)
	n.logs.report(&s)
	return s.Sources
}

// figures gives how a log stands. What a unix datagram socket lost is counted
// by nobody: each time that its queue was full stands for one line at least.
func (s *logSource) figures() admin.Log {
	f := admin.Log{Name: s.name}
	if follower := s.follower.Load(); follower != nil {
		t := follower.Stats()
		f.Parsed, f.Skipped, f.Late, f.Early = t.Events, t.Skipped, t.Late, t.Early
		f.Behind, f.LostBytes = t.Behind, t.Lost
		f.Rotations, f.Truncations, f.Gaps = t.Rotations, t.Truncations, t.Gaps
	}
	if listener := s.listener.Load(); listener != nil {
		t := listener.Stats()
		f.Parsed, f.Skipped, f.Lost = t.Events, t.Skipped, t.Full
		f.Late, f.Early = t.Late, t.Early
	}
	return f
}

// figures gives how an enforcer stands.
func (o *outlet) figures() admin.Enforcer {
	s := o.runner.Stats()
	e := admin.Enforcer{
		Name: o.name, Intended: s.Intended, Installed: s.Installed, Withheld: s.Withheld,
		Updates: s.Updates, Failures: s.Failures, Failing: s.Failing, Success: s.LastSuccess,
	}
	if s.Failing > 0 && s.LastError != nil {
		e.Error = s.LastError.Error()
	}
	return e
}
