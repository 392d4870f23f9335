package node

import (
	"sync/atomic"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/admin/metrics"
	"edgeguard/node/pipeline"
)

// timeEvery is how many decisions are made for each whose duration is measured:
// two looks at the clock and a histogram cost as much as a decision.
const timeEvery = 16

// observed returns a decider that counts the verdicts of decide, nil for not, and measures
// how long every timeEvery-th decision took.
func observed(latency *metrics.Latency, verdicts *pipeline.Counts, source string, decide edgeguard.Decider) edgeguard.Decider {
	took := latency.Of(source)
	var decisions atomic.Uint64
	return func(now time.Time, event *edgeguard.Event) edgeguard.Verdict {
		var begun time.Time
		measured := decisions.Add(1)%timeEvery == 0
		if measured {
			begun = time.Now()
		}
		verdict := decide(now, event)
		if measured {
			took(time.Since(begun))
		}
		if verdicts != nil && verdict.Action != edgeguard.ActionPass {
			verdicts.Of(pipeline.Ruling{Source: source, Action: verdict.Action, Rule: verdict.Rule, Unenforced: verdict.Unenforced}).Add(1)
		}
		return verdict
	}
}

// site returns how the site does; nil where no rule goes by the status.
func (n *Node) site() *admin.Site {
	parts, late := n.pipeline.Site()
	if !n.pipeline.Current().Detector.SparesOutages() {
		return nil
	}
	out := &admin.Site{Late: late}
	for _, p := range parts {
		f := admin.SiteFigures{Name: p.Name, Fails: p.Armed, Why: string(p.Why), Visitors: p.Visitors, Succeeding: p.Succeeding, Failing: p.State.Failing}
		if p.Since > 0 {
			f.Since = n.clock.Epoch(time.Unix(int64(p.Since), 0)).UTC()
		}
		out.Parts, out.FailedSeconds = append(out.Parts, f), max(out.FailedSeconds, p.Used)
	}
	return out
}
