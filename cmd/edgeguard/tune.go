package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"edgeguard/cmd/edgeguard/output"
	"edgeguard/internal/words"
	"edgeguard/replay"
	"edgeguard/tuning"
)

func tuneCommand(e *env) *cobra.Command {
	var s settings
	c := &cobra.Command{
		Use:   "tune [flags] FILE…",
		Short: "Show what each threshold would have caught, and suggest one",
		Long: `tune runs recorded events through the rules and shows, for each rule, the
distribution of the keys' highest counts, the highest keys, and what each
threshold would have refused. If a gap separates a few keys from all others,
tune suggests a threshold inside it. Use one log of a normal day and one of an
attack.`,
		Example: `  edgeguard tune /var/log/nginx/access.log
  edgeguard tune --config edgeguard.yaml --rule login access.log access.log.1.gz
  edgeguard tune --window 1m --json access.log`,
		Args: files,
		RunE: func(c *cobra.Command, args []string) error {
			if err := s.check(c); err != nil {
				return err
			}
			return tuneFiles(c.Context(), e, &s, args)
		},
	}
	s.flags(c)
	return c
}

// tuneFiles is the command: files in, distributions and a suggestion out.
func tuneFiles(ctx context.Context, e *env, s *settings, names []string) error {
	job, err := s.prepare(e, names)
	if err != nil {
		return err
	}
	defer job.close()
	job.config.Tune = true
	report, runErr := job.run(ctx)
	if report.Events == 0 && runErr != nil {
		return runErr
	}
	if s.json {
		if err := printTuneJSON(e.stdout, report); err != nil {
			return err
		}
	} else {
		job.printTune(report)
	}
	return runErr
}

// printTune shows the report to people.
func (j *job) printTune(r *replay.Report) {
	j.printInputs(r)
	for i := range r.Rules {
		fmt.Fprintln(j.env.stdout)
		j.tuneRule(&r.Rules[i])
	}
	j.printWarnings(r)
}

// tuneRule shows one rule: the distribution, the leaders, the thresholds, the
// suggestion.
func (j *job) tuneRule(rr *replay.RuleReport) {
	out := j.env.stdout
	j.printRule(rr)
	t := rr.Tally
	if t.Peaks.Total() == 0 {
		fmt.Fprintf(out, "no event matched\n")
		return
	}
	fmt.Fprintf(out, "\nhighest counts of %s in %s:\n", words.Plural(t.Peaks.Total(), "key", "keys"), words.Span(rr.Meter.Window))
	drawDistribution(out, &t.Peaks, j.env)
	fmt.Fprintf(out, "\nhighest:\n")
	leaders := &output.Table{}
	leaders.Column("  key", false, "")
	leaders.Column("highest count", true, "")
	for _, p := range limitRows(t.Top.Sorted(), min(j.topRows(), 10)) {
		leaders.Row("  "+p.Key.String(), words.Number(p.Peak))
	}
	leaders.Print(out, j.env.colour)
	j.printWide(rr)
	fmt.Fprintln(out)
	limitOf := rr.Rule.Guard.Limit
	j.printOutcomes(rr, t.Outcomes(nil, limitOf))
	s := t.Suggest(limitOf)
	if s.Threshold == 0 {
		fmt.Fprintf(out, "\nno suggestion: %s\n", s.Reason)
		return
	}
	fmt.Fprintf(out, "\nsuggestion: %s\n", output.Paint(output.Bold, "threshold "+words.Number(s.Threshold), j.env.colour))
	fmt.Fprintf(out, "  %s\n", s.Reason)
}

// topRows is how many leaders are shown.
func (j *job) topRows() int {
	if j.settings.rows == 0 {
		return 1 << 30
	}
	return j.settings.rows
}

// printOutcomes shows what each threshold would have done: a ladder of round
// numbers with the rule's own and its candidates.
func (j *job) printOutcomes(rr *replay.RuleReport, ladder []tuning.Outcome) {
	t := &output.Table{}
	t.Column("  threshold", true, "")
	t.Column("limit", true, output.Faint)
	t.Column("keys over", true, "")
	t.Column("of keys", true, "")
	t.Column(rr.Meter.Kind.String()+"s over", true, "")
	t.Column("of all", true, "")
	t.Column("", false, output.Faint)
	for _, o := range ladderWith(rr, ladder) {
		note := ""
		if o.Threshold == rr.Rule.Threshold {
			note = "← the rule"
		}
		for _, c := range rr.Rule.Candidates {
			if o.Threshold == c.Threshold {
				note = "← candidate"
			}
		}
		t.Row("  "+words.Number(o.Threshold), words.Number(o.Limit), words.Number(o.Keys), words.PercentShare(o.KeyShare), words.Number(o.Events), words.PercentShare(o.EventShare), note)
	}
	t.Print(j.env.stdout, j.env.colour)
}
