package node

import (
	"sync/atomic"
	"time"

	"edgeguard"
	"edgeguard/admin/metrics"
	"edgeguard/node/pipeline"
)

// timeEvery is how many decisions are made for each whose duration is measured:
// two looks at the clock and a histogram cost as much as a decision.
const timeEvery = 16

// observed returns a decider that counts the verdicts of decide and measures how
// long every timeEvery-th decision took.
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
		if verdict.Action != edgeguard.ActionPass {
			verdicts.Of(pipeline.Ruling{Source: source, Action: verdict.Action, Rule: verdict.Rule}).Add(1)
		}
		return verdict
	}
}
