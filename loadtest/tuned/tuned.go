// Package tuned measures what `edgeguard tune` proposes: for pairs of a rule and a
// log it compares the proposal with the rule as it is, by labels that the proposal
// does not see.
package tuned

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"path/filepath"
	"time"

	"edgeguard"
	"edgeguard/config"
	"edgeguard/replay"
	"edgeguard/rules"
	"edgeguard/sensor/accesslog"
	"edgeguard/shard"
	"edgeguard/tuning"
	"edgeguard/tuning/evidence"
)

// Refused is how many labelled addresses a limit refuses.
type Refused struct{ Attackers, Benign int }

// Pair is one rule and one log.
type Pair struct {
	Log, Rule string
	// Now is what the rule as it is catches, Then what the proposal does; where none
	// is made, the same.
	Now, Then Refused
	// Proposal is what tune says.
	Proposal tuning.Suggestion
}

// Verdict is 1 where the proposal catches more attackers and no more that are benign,
// or fewer benign and no fewer attackers; -1 where it catches fewer attackers or more
// benign; else 0.
func (p *Pair) Verdict() int {
	switch {
	case p.Then.Attackers < p.Now.Attackers || p.Then.Benign > p.Now.Benign:
		return -1
	case p.Then != p.Now:
		return 1
	}
	return 0
}

// Rules are those that the documentation shows, and one for xmlrpc alone.
func Rules() []rules.Spec {
	return []rules.Spec{
		{Name: "site", Threshold: 2000},
		{Name: "probing", Threshold: 60, Window: time.Minute, Match: rules.Match{Status: []string{"404", "403"}}},
		{Name: "logins", Threshold: 20, Match: rules.Match{Method: []string{"POST"}, Path: []string{"/wp-login.php*", "/administrator/index.php*"}}},
		{Name: "xmlrpc", Threshold: 20, Match: rules.Match{Method: []string{"POST"}, Path: []string{"/xmlrpc.php*"}}},
	}
}

// Presets are the rules that ship for access logs.
func Presets() ([]rules.Spec, error) {
	c, err := config.Default().WithPresets([]string{"web", "wordpress", "joomla", "login", "xmlrpc", "api"}, true)
	if err != nil {
		return nil, err
	}
	return c.Specs, nil
}

// Measure returns a pair for each rule that counts something in one of the logs, which
// are folders with an access.log.gz.
func Measure(ctx context.Context, folder string, labels Labels, specs []rules.Spec) ([]Pair, error) {
	var pairs []Pair
	for _, log := range labels.Folders {
		some, err := one(ctx, log, func() (replay.Source, error) {
			return accesslog.Open(filepath.Join(folder, log, "access.log.gz"), nil, accesslog.Options{})
		}, specs, labels.Of[log])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", log, err)
		}
		pairs = append(pairs, some...)
	}
	return pairs, nil
}

// one returns the pairs of one log.
func one(ctx context.Context, log string, open func() (replay.Source, error), specs []rules.Spec, labels map[netip.Addr]Who) ([]Pair, error) {
	report, book, err := read(ctx, open, specs, func(time.Time) bool { return true })
	if err != nil {
		return nil, err
	}
	suggestions, err := suggest(ctx, open, specs, report, book)
	if err != nil {
		return nil, err
	}
	var pairs []Pair
	for i := range report.Rules {
		rr := &report.Rules[i]
		if rr.Tally.Peaks.Total() == 0 {
			continue
		}
		p := Pair{Log: log, Rule: rr.Rule.Name, Proposal: suggestions[i]}
		p.Now = caught(rr.Tally, labels, rr.Rule.Limit)
		p.Then = p.Now
		if evidence.Changes(&p.Proposal) {
			p.Then = caught(rr.Tally, labels, p.Proposal.Limit)
		}
		pairs = append(pairs, p)
	}
	return pairs, nil
}

// read replays the events of a log at some times.
func read(ctx context.Context, open func() (replay.Source, error), specs []rules.Spec, at func(time.Time) bool) (*replay.Report, *evidence.Book, error) {
	set, problems := rules.Compile(specs)
	if len(problems) > 0 {
		return nil, nil, fmt.Errorf("rule %s", problems[0])
	}
	book := evidence.NewBook(0)
	book.Watch(specs)
	source, err := open()
	if err != nil {
		return nil, nil, err
	}
	if c, ok := source.(io.Closer); ok {
		defer c.Close()
	}
	report, err := replay.Run(ctx, &during{replay.SortByTime(source, 0), at}, replay.Config{Rules: set, Memory: shard.NewMemory(256 << 20), Tune: true, Seen: book.Add})
	return report, book, err
}

// suggest returns what tune suggests for each rule.
func suggest(ctx context.Context, open func() (replay.Source, error), specs []rules.Spec, report *replay.Report, book *evidence.Book) ([]tuning.Suggestion, error) {
	all := make([]tuning.Suggestion, len(report.Rules))
	questions := make([]evidence.Question, len(report.Rules))
	split, window := time.Time{}, make([]bool, len(report.Rules))
	for i := range report.Rules {
		rr := &report.Rules[i]
		questions[i] = evidence.Question{Rule: rr.Rule, Tally: rr.Tally, Number: i}
		all[i] = book.Suggest(questions[i])
		at, ok := evidence.Split(report.First, report.Last, rr.Meter.Window)
		if window[i] = ok && evidence.Changes(&all[i]); window[i] {
			split = at
		}
	}
	if split.IsZero() {
		return all, nil
	}
	first, firstBook, err := read(ctx, open, specs, func(t time.Time) bool { return t.Before(split) })
	if err != nil {
		return nil, err
	}
	last, lastBook, err := read(ctx, open, specs, func(t time.Time) bool { return !t.Before(split) })
	if err != nil {
		return nil, err
	}
	for i := range all {
		if window[i] {
			all[i] = book.Check(questions[i], all[i], evidence.Portion{Tally: first.Rules[i].Tally, Book: firstBook}, evidence.Portion{Tally: last.Rules[i].Tally, Book: lastBook})
		}
	}
	return all, nil
}

// during passes the events at some times.
type during struct {
	replay.Source
	at func(time.Time) bool
}

// Next implements replay.Source.
func (d *during) Next() ([]edgeguard.Event, error) {
	events, err := d.Source.Next()
	kept := events[:0]
	for i := range events {
		if d.at(events[i].Time) {
			kept = append(kept, events[i])
		}
	}
	return kept, err
}

func caught(t *tuning.Tally, labels map[netip.Addr]Who, limit uint32) (c Refused) {
	for _, p := range t.Top.Sorted() {
		if p.Peak <= limit {
			break
		}
		switch w := labels[p.Key.Prefix.Addr()]; {
		case w.Attacker():
			c.Attackers++
		case w.Label != "":
			c.Benign++
		}
	}
	return c
}

// Print writes the pairs as a table in Markdown, and how many are better and worse.
func Print(w io.Writer, pairs []Pair) {
	better, worse := Count(pairs)
	fmt.Fprintf(w, "| log | rule | attackers, benign over it | over the proposal | threshold | |\n|---|---|---|---|---|---|\n")
	for i := range pairs {
		p := &pairs[i]
		says := "none"
		switch {
		case p.Proposal.Keep:
			says = "keep"
		case evidence.Changes(&p.Proposal):
			says = fmt.Sprint(p.Proposal.Threshold)
		}
		fmt.Fprintf(w, "| %s | %s | %d, %d | %d, %d | %s | %s |\n", p.Log, p.Rule, p.Now.Attackers, p.Now.Benign, p.Then.Attackers, p.Then.Benign, says,
			[]string{"worse", "", "better"}[p.Verdict()+1])
	}
	fmt.Fprintf(w, "\n%d pairs, %d with a suggestion: better on %d, worse on %d\n", len(pairs), changed(pairs), better, worse)
}

// changed is how many pairs have another threshold suggested.
func changed(pairs []Pair) (n int) {
	for i := range pairs {
		if evidence.Changes(&pairs[i].Proposal) {
			n++
		}
	}
	return n
}

// Count returns how many proposals are better and worse than the rules as they are.
func Count(pairs []Pair) (better, worse int) {
	for i := range pairs {
		switch pairs[i].Verdict() {
		case 1:
			better++
		case -1:
			worse++
		}
	}
	return better, worse
}
