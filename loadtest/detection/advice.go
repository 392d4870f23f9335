package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"path/filepath"
	"slices"
	"time"

	"edgeguard"
	"edgeguard/loadtest/tuned"
	"edgeguard/replay"
	"edgeguard/rules"
	"edgeguard/tuning"
)

// What the front page tells of thresholds: a log is gone through hour by hour, as a node keeps windows of it.

// advised is what is told of a rule in a log.
type advised struct {
	at           time.Time // first; zero: never
	threshold    uint32
	hours, turns int
	last         bool
	now, then    tuned.Refused // labelled addresses over the limit in force, and over that of the threshold
}

// printAdvice prints what is told of the labelled logs, by some rules.
func printAdvice(ctx context.Context, out io.Writer, name, data string, l tuned.Labels, specs []rules.Spec) error {
	set, problems := rules.Compile(specs)
	if problems != nil {
		return fmt.Errorf("%v", problems)
	}
	table(out, "log ("+name+")", "rule", "limit", "threshold told", "hours in which it held", "comes and goes", "attackers over the limit, then", "benign, then")
	for _, folder := range l.Folders {
		of, err := adviceOf(ctx, filepath.Join(data, folder), set, l.Of[folder])
		if err != nil {
			return fmt.Errorf("%s: %w", folder, err)
		}
		quiet := 0
		for i := range set.Rules {
			t, r := of[i], &set.Rules[i]
			if t.at.IsZero() {
				quiet++
				continue
			}
			fmt.Fprintf(out, "| %s | %s | %d | %d | %d | %d | %d, %d | %d, %d |\n", folder, r.Name, r.Limit, t.threshold, t.hours, t.turns, t.now.Attackers, t.then.Attackers, t.now.Benign, t.then.Benign)
		}
		fmt.Fprintf(out, "| %s | %d others | – | none | – | – | – | – |\n", folder, quiet)
	}
	return nil
}

// adviceOf goes through a log. Rules of different values and of several meters' attributes are left out.
func adviceOf(ctx context.Context, folder string, set *rules.Set, who map[netip.Addr]tuned.Who) ([]advised, error) {
	log, err := openLog(folder)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	var h tuning.History
	all, meters := make([]advised, len(set.Rules)), make([]tuning.Meter, len(set.Meters))
	counts, peaks := make([]map[netip.Prefix]uint32, len(set.Meters)), make([]map[netip.Prefix]uint32, len(set.Meters))
	for i := range set.Meters {
		meters[i] = tuning.Meter{Fingerprint: set.Meters[i].Fingerprint, Window: set.Meters[i].Window}
		counts[i], peaks[i] = map[netip.Prefix]uint32{}, map[netip.Prefix]uint32{}
	}
	var now time.Time
	step := func(until time.Time) {
		if now.IsZero() {
			now = until.Truncate(10 * time.Second)
		}
		for ; now.Before(until); now = now.Add(10 * time.Second) {
			for m, ok := h.NextDue(now, meters); ok; m, ok = h.NextDue(now, meters) {
				i := slices.Index(meters, m)
				var d tuning.Distribution
				for _, n := range counts[i] {
					d.Add(n)
				}
				h.NoteCounts(now, m, &d)
				clear(counts[i])
			}
			if now.Unix()%3600 == 0 {
				advise(&h, now, set, meters, all)
			}
		}
	}
	for source := replay.SortByTime(log, 0); ; {
		events, err := source.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, errors.Join(err, ctx.Err())
		}
		for i := range events {
			step(events[i].Time)
			countEvent(set, &events[i], counts, peaks)
		}
	}
	for i := range all {
		r := &set.Rules[i]
		for prefix, peak := range peaks[r.Meter] {
			w := who[prefix.Addr()]
			addRefused(&all[i].now, w, peak > r.Limit)
			addRefused(&all[i].then, w, peak > r.Guard.Limit(all[i].threshold))
		}
	}
	return all, nil
}

// addRefused counts a labelled address that is over a limit.
func addRefused(to *tuned.Refused, w tuned.Who, over bool) {
	switch {
	case !over || w.Label == "":
	case w.Attacker():
		to.Attackers++
	default:
		to.Benign++
	}
}

// countEvent counts an event in the window of each meter.
func countEvent(set *rules.Set, e *edgeguard.Event, counts, peaks []map[netip.Prefix]uint32) {
	for i := range set.Meters {
		m := &set.Meters[i]
		if cost, ok := m.Match(e); ok && m.Distinct == 0 && len(m.Attributes) == 0 {
			key := m.Key(e.Addr, "").Prefix
			counts[i][key] += uint32(cost)
			peaks[i][key] = max(peaks[i][key], counts[i][key])
		}
	}
}

// advise asks of each rule, as a node does once an hour.
func advise(h *tuning.History, now time.Time, set *rules.Set, meters []tuning.Meter, all []advised) {
	for i := range set.Rules {
		r, t := &set.Rules[i], &all[i]
		windows, _ := h.Windows(now, meters[r.Meter], tuning.Length)
		s, ok := tuning.Advise(tuning.ConfigOf(&set.Meters[r.Meter]), windows, r.Limit, r.Guard.Limit, r.People)
		if ok = ok && r.Action != edgeguard.ActionShadow; ok {
			t.hours++
			if t.at.IsZero() {
				t.at, t.threshold = now, s.Threshold
			}
		}
		if ok != t.last {
			t.turns++
		}
		t.last = ok
	}
}
