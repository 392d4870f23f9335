package main

import (
	"context"
	"slices"

	"edgeguard/cmd/edgeguard/tune"
	"edgeguard/internal/hugepage"
	"edgeguard/replay"
	"edgeguard/rules"
	"edgeguard/tuning/evidence"
)

// propose returns rules that the log asks for. It replays the log with them, and the
// one of a normal day; a log that cannot be read twice has none.
func (t *tuneJob) propose(ctx context.Context, log, normal *tunedLog) ([]evidence.Proposed, error) {
	drafts := evidence.Drafts(log.book, log.limits.Specs)
	var specs []rules.Spec
	for i := range drafts {
		specs = append(specs, drafts[i].Specs()...)
	}
	if len(specs) == 0 || !log.twice() || normal != nil && !normal.twice() {
		return nil, nil
	}
	report, err := log.again(ctx, specs)
	if err != nil {
		return nil, err
	}
	counted := make([]evidence.Counted, len(specs))
	for i := range counted {
		counted[i].Tally = report.Rules[i].Tally
	}
	if normal != nil {
		if report, err = normal.again(ctx, specs); err != nil {
			return nil, err
		}
		for i := range counted {
			counted[i].Normal = tune.NormalOf(report.Rules[i].Tally, normal.book).Highest
		}
	}
	var found []evidence.Proposed
	for i := range drafts {
		n := len(drafts[i].Specs())
		if rule, ok := drafts[i].Choose(counted[:n], log.book); ok {
			found = append(found, rule)
		}
		counted = counted[n:]
	}
	return found, nil
}

// twice reports whether the log can be read a second time.
func (l *tunedLog) twice() bool {
	return l.settings.sort && !slices.Contains(l.names, "-") || l.mayRepeat()
}

// again replays the log with other rules, in the order in which it was read.
func (l *tunedLog) again(ctx context.Context, specs []rules.Spec) (*replay.Report, error) {
	set, _ := rules.Compile(specs) // drafts are made of what compiles, as their test shows
	j := *l.job
	j.config.Rules, j.config.Seen, j.config.Memory = set, nil, hugepage.Memory(l.limits.Memory)
	sorted := j.settings.sort || j.order == orderSorted
	for i := range set.Meters {
		j.options.window = max(j.options.window, set.Meters[i].Window)
	}
	if sorted {
		j.options.window = 0
	}
	all, err := j.options.openAll(j.names)
	if err != nil {
		return nil, err
	}
	defer all.close()
	source := all.source()
	if sorted {
		source = replay.Sort(source, 0)
	}
	return j.runOnce(ctx, all, source)
}
