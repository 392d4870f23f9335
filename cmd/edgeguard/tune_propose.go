package main

import (
	"context"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"edgeguard"
	"edgeguard/cmd/edgeguard/tune"
	"edgeguard/config"
	"edgeguard/internal/hugepage"
	"edgeguard/presets"
	"edgeguard/replay"
	"edgeguard/rules"
	"edgeguard/tuning/evidence"
)

// proposal is what a log asks for: rules of its own, and presets that are not in force.
type proposal struct {
	rules   []evidence.Proposed
	presets []tune.Preset
}

// propose returns what the log asks for. It replays the log with it; a log that cannot be read twice
// has nothing, nor has one that was read for some rules alone.
func (t *tuneJob) propose(ctx context.Context, log, normal *tunedLog) (p proposal, err error) {
	if len(t.settings.only) > 0 || !log.twice() || normal != nil && !normal.twice() {
		return p, nil
	}
	shipped, err := log.limits.WithPresets(unusedPresets(log.limits), true)
	if err != nil {
		return p, err
	}
	if p.rules, err = t.proposeRules(ctx, log, normal, shipped.Specs); err == nil {
		p.presets, err = t.proposePresets(ctx, log, shipped.Specs, p.rules)
	}
	return p, err
}

// proposeRules returns rules that the log asks for and no preset has. It replays the log with them, and the
// one of a normal day.
func (t *tuneJob) proposeRules(ctx context.Context, log, normal *tunedLog, shipped []rules.Spec) ([]evidence.Proposed, error) {
	drafts := evidence.Drafts(log.book, slices.Concat(log.limits.Specs, shipped))
	var specs []rules.Spec
	for i := range drafts {
		specs = append(specs, drafts[i].Specs()...)
	}
	if len(specs) == 0 {
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

// unusedPresets are those that ship and of which the config has no rule.
func unusedPresets(c *config.Config) []string {
	return slices.DeleteFunc(presets.Shipped().Names(), func(name string) bool {
		return slices.ContainsFunc(c.Specs, func(s rules.Spec) bool { return strings.HasPrefix(s.Name, name+"/") })
	})
}

// proposePresets returns the presets that refuse addresses that look hostile and that neither the rules in
// force nor the proposed ones refuse, the one that refuses most first.
func (t *tuneJob) proposePresets(ctx context.Context, log *tunedLog, shipped []rules.Spec, proposed []evidence.Proposed) ([]tune.Preset, error) {
	if len(shipped) == 0 {
		return nil, nil
	}
	specs := slices.Clone(shipped)
	for i := range proposed {
		specs = append(specs, proposed[i].Spec)
	}
	report, err := log.again(ctx, specs)
	if err != nil {
		return nil, err
	}
	already := make(map[netip.Prefix]bool)
	for _, rr := range slices.Concat(log.report.Rules, report.Rules[len(shipped):]) {
		for i := range rr.Offenders {
			already[rr.Offenders[i].Key.Prefix] = true // also what only reports: it says who they are
		}
	}
	refused := make(map[string][]edgeguard.Key) // by preset
	for _, rr := range report.Rules[:len(shipped)] {
		name, _, _ := strings.Cut(rr.Rule.Name, "/")
		for i := range rr.Offenders {
			o := &rr.Offenders[i]
			if o.Action >= edgeguard.ActionDeny && o.Key.Prefix.IsValid() && evidence.Prefix(o.Key.Prefix.Addr()) == o.Key.Prefix { // of a network nothing is known
				refused[name] = append(refused[name], o.Key)
			}
		}
	}
	return choosePresets(refused, already, log.book), nil
}

// fewMore is the part of those that the presets named before refuse, of which one must refuse as many more: any
// scanner asks for some file of another application than the site's.
const fewMore = 10

// choosePresets returns presets by what each refuses: first the one that refuses most that look hostile, then those
// that refuse others, the most first.
func choosePresets(refused map[string][]edgeguard.Key, already map[netip.Prefix]bool, book *evidence.Book) (chosen []tune.Preset) {
	for hostile := 0; ; hostile += chosen[len(chosen)-1].Hostile {
		var most tune.Preset
		for _, name := range slices.Sorted(maps.Keys(refused)) {
			one, seen := tune.Preset{Name: name}, make(map[netip.Prefix]bool)
			for _, key := range refused[name] {
				if !already[key.Prefix] && !seen[key.Prefix] {
					seen[key.Prefix] = true
					one.Add(book.Judge(key).Looks)
				}
			}
			if one.Hostile > most.Hostile {
				most = one
			}
		}
		if most.Hostile == 0 || most.Hostile*fewMore < hostile {
			return chosen
		}
		chosen = append(chosen, most)
		for _, key := range refused[most.Name] {
			already[key.Prefix] = true
		}
	}
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
	source := all.source(l.options.period)
	if sorted {
		source = replay.SortByTime(source, 0)
	}
	return all, source, nil
}
