package main

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"edgeguard"
	"edgeguard/internal/words"
	"edgeguard/replay"
)

// outageJSON is a time in which the site failed. Host is empty for the hosts that are none
// of own_hosts, and End where the events end first.
type outageJSON struct {
	Type  string `json:"type"`
	Host  string `json:"host"`
	Begin string `json:"begin"`
	End   string `json:"end,omitempty"`
}

// outages prints the times in which the site failed.
func (p *jsonPrinter) outages(r *replay.Report) {
	for _, o := range r.Outages {
		j := outageJSON{Type: "outage", Host: o.Host, Begin: o.Begin.Format(time.RFC3339)}
		if !o.End.IsZero() {
			j.End = o.End.Format(time.RFC3339)
		}
		p.line(j)
	}
}

// liftedJSON is a block that was taken back because the site failed.
type liftedJSON struct {
	Type string `json:"type"`
	Time string `json:"time"`
	Rule string `json:"rule"`
	Key  string `json:"key"`
}

// lifted prints a block that was taken back.
func (p *jsonPrinter) lifted(now time.Time, rule string, prefix netip.Prefix) {
	p.line(liftedJSON{Type: "lifted", Time: now.UTC().Format(time.RFC3339), Rule: rule, Key: edgeguard.Key{Prefix: prefix}.String()})
}

// countExcused returns how many keys a rule would have stopped, of all rules, and how many of
// the blocks that it made were lifted.
func countExcused(r *replay.Report) (excused, lifted int) {
	for i := range r.Rules {
		excused += len(r.Rules[i].Excused)
		for k := range r.Rules[i].Offenders {
			lifted += r.Rules[i].Offenders[k].Lifted
		}
	}
	return excused, lifted
}

// printOutages prints when the site failed, and what was not counted for it.
func (j *job) printOutages(r *replay.Report) {
	out := j.env.Stdout
	for _, o := range r.Outages {
		until, host := "the end", ""
		if !o.End.IsZero() {
			until = words.Instant(o.End)
		}
		if o.Host != "" {
			host = " (" + o.Host + ")"
		}
		fmt.Fprintf(out, "\nTHE SITE FAILED%s from %s to %s: most visitors who had succeeded before only failed.", host, words.Instant(o.Begin), until)
	}
	switch {
	case len(r.Outages) == 0:
	case slices.ContainsFunc(r.Rules, func(rule replay.RuleReport) bool { return rule.ExcusedEvents > 0 }):
		fmt.Fprintln(out, "\nRules that go by the status did not count failures then:")
	default:
		fmt.Fprintln(out, "\nNo rule that goes by the status had failures to count then.")
	}
	for i := range r.Rules {
		rule := &r.Rules[i]
		if rule.ExcusedEvents == 0 {
			continue
		}
		fmt.Fprintf(out, "  %s: %s", rule.Rule.Name, words.Plural(rule.ExcusedEvents, "event", "events"))
		if n := len(rule.Excused); n > 0 {
			fmt.Fprintf(out, "; %s would have been over the limit (%s)", words.Plural(n, "key", "keys"), firstExcused(rule.Excused))
		}
		fmt.Fprintln(out)
	}
	if _, lifted := countExcused(r); lifted > 0 {
		fmt.Fprintf(out, "%s lifted again: made in the two minutes before it showed, of addresses that had succeeded.\n", words.Plural(lifted, "block was", "blocks were"))
	}
}

// printLeftOut says what is in no count because the site failed.
func (j *job) printLeftOut(r *replay.Report) {
	failures := uint64(0)
	for i := range r.Rules {
		failures = max(failures, r.Rules[i].ExcusedEvents)
	}
	if failures > 0 {
		fmt.Fprintf(j.env.Stdout, "the site failed %s: what clients' failures count then is left out, up to %s of a rule (edgeguard replay shows when)\n",
			words.Plural(len(r.Outages), "time", "times"), words.Plural(failures, "event", "events"))
	}
}

// firstExcused names the first keys that were excused.
func firstExcused(excused []replay.Offender) string {
	var names []string
	for i := range min(3, len(excused)) {
		names = append(names, excused[i].Key.String())
	}
	if len(excused) > len(names) {
		names = append(names, "…")
	}
	return strings.Join(names, ", ")
}

// outageLate says for how many lines the outage watch was off.
func (j *job) outageLate(r *replay.Report) string {
	s := fmt.Sprintf("warning: %s more than a minute late: the outage guard was off for them", words.Plural(r.OutageLate, "answer came", "answers came"))
	if !j.settings.sort {
		s += "; --sort turns it on"
	}
	return s
}
