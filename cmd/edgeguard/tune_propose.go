package main

import (
	"context"
	"slices"
	"time"

	"edgeguard/internal/hugepage"
	"edgeguard/replay"
	"edgeguard/rules"
	"edgeguard/tuning/evidence"
)

// propose returns rules that the log asks for. It replays the log with them, and the
// one of a normal day; a log that cannot be read twice has none, nor has one that was read
// for some rules alone.
func (t *tuneJob) propose(ctx context.Context, log, normal *tunedLog) ([]evidence.Proposed, error) {
	drafts := evidence.Drafts(log.book, log.limits.Specs)
	var specs []rules.Spec
	for i := range drafts {
		specs = append(specs, drafts[i].Specs()...)
	}
	if len(specs) == 0 || len(t.settings.only) > 0 || !log.twice() || normal != nil && !normal.twice() {
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
			counted[i].Normal = evidence.NormalOf(report.Rules[i].Tally, normal.book).Highest
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
	window := j.options.window
	for i := range set.Meters {
		window = max(window, set.Meters[i].Window)
	}
	all, source, err := l.reopen(window)
	if err != nil {
		return nil, err
	}
	defer all.close()
	return j.runOnce(ctx, all, source)
}

// reopen opens the log again, in the order in which it was read. window is how far ahead of
// its neighbours a time may be.
func (l *tunedLog) reopen(window time.Duration) (inputs, replay.Source, error) {
	sorted := l.settings.sort || l.order == orderSorted
	options := l.options
	if options.window = window; sorted {
		options.window = 0
	}
	all, err := options.openAll(l.names)
	if err != nil {
		return nil, nil, err
	}
	source := all.source()
	if sorted {
		source = replay.Sort(source, 0)
	}
	return all, source, nil
}
