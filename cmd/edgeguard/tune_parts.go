package main

import (
	"context"
	"errors"
	"io"
	"time"

	"edgeguard"
	"edgeguard/cmd/edgeguard/tune"
	"edgeguard/internal/hugepage"
	"edgeguard/replay"
	"edgeguard/tuning/evidence"
)

// check tries what is suggested on the last third of the log, and chooses it by the rest.
// The log is read once more for that, where it can be, and where anything is suggested.
func (t *tuneJob) check(ctx context.Context, log *tunedLog, findings []*tune.Found) error {
	var split time.Time
	for _, f := range findings {
		if !evidence.Changes(&f.Suggestion) {
			continue
		}
		at, ok := evidence.Split(log.report.First, log.report.Last, f.Meter.Window)
		switch {
		case f.Rule.Learned:
			f.Unchecked("it goes by the days of the whole log")
		case !ok:
			f.Unchecked(evidence.TooShort(f.Meter.Window))
		case !log.twice():
			f.Unchecked("the log can be read only once")
		default:
			split = at
		}
	}
	if split.IsZero() {
		return nil
	}
	first, last, err := log.parts(ctx, split)
	if err != nil {
		return err
	}
	for i, f := range findings {
		if evidence.Changes(&f.Suggestion) && f.Suggestion.Holdout == nil {
			f.Check(i, log.book, evidence.Portion{Tally: first.report.Rules[i].Tally, Book: first.book}, evidence.Portion{Tally: last.report.Rules[i].Tally, Book: last.book})
		}
	}
	return nil
}

// parts replays the log to an instant, and what is left of it apart.
func (l *tunedLog) parts(ctx context.Context, at time.Time) (first, last *tunedLog, err error) {
	all, source, err := l.reopen(l.options.window)
	if err != nil {
		return nil, nil, err
	}
	defer all.close()
	cut := &cutSource{source: source, at: at}
	if first, err = l.part(ctx, all, cut); err != nil {
		return nil, nil, err
	}
	cut.at = time.Time{}
	last, err = l.part(ctx, all, cut)
	return first, last, err
}

// part replays a source by itself.
func (l *tunedLog) part(ctx context.Context, all inputs, source replay.Source) (*tunedLog, error) {
	j := *l.job
	p := &tunedLog{job: &j, book: evidence.NewBook(0)}
	p.book.Watch(l.limits.Specs)
	j.config.Seen, j.config.Memory = p.book.Add, hugepage.Memory(l.limits.Memory)
	var err error
	p.report, err = j.runOnce(ctx, all, source)
	return p, err
}

// cutSource is a source that ends where the first event is as late as an instant, and that
// goes on from there once the instant is zero.
type cutSource struct {
	source replay.Source
	at     time.Time
	left   []edgeguard.Event
	ended  bool
}

// Next implements replay.Source.
func (c *cutSource) Next() ([]edgeguard.Event, error) {
	events, err := c.left, error(nil)
	c.left = nil
	if len(events) == 0 {
		if c.ended {
			return nil, io.EOF
		}
		events, err = c.source.Next()
		c.ended = errors.Is(err, io.EOF)
	}
	if c.at.IsZero() {
		return events, err
	}
	for i := range events {
		if !events[i].Time.Before(c.at) {
			c.left = events[i:]
			return events[:i], io.EOF
		}
	}
	return events, err
}
