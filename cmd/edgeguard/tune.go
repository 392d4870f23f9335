package main

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/spf13/cobra"

	"edgeguard/cmd/edgeguard/tune"
	"edgeguard/replay"
	"edgeguard/tuning/evidence"
)

func tuneCommand(e *env) *cobra.Command {
	var s settings
	var key string
	c := &cobra.Command{
		Use:   "tune [flags] FILE…",
		Short: "Show what each threshold would have caught, and suggest one",
		Long: `tune runs recorded events through the rules and shows, for each rule, the
distribution of the keys' highest counts, the highest keys with what they did, and
what each threshold would have refused. It suggests a threshold above all that look
like customers, if nearly all above it look hostile, and never one that is worse than
the rule as it is. Use one log of a normal day and one of an attack.`,
		Example: `  edgeguard tune /var/log/nginx/access.log
  edgeguard tune --config edgeguard.yaml --rule login access.log access.log.1.gz
  edgeguard tune --key 203.0.113.9 access.log
  edgeguard tune --window 1m --json access.log`,
		Args: files,
		RunE: func(c *cobra.Command, args []string) error {
			if err := s.check(c); err != nil {
				return err
			}
			t := tuneJob{env: e, settings: &s, book: evidence.NewBook(0)}
			if key != "" {
				addr, err := netip.ParseAddr(key)
				if err != nil {
					return usageError{fmt.Errorf("tune: --key %q is not an address: use 203.0.113.9 or 2001:db8::1", key)}
				}
				t.key = addr.Unmap().WithZone("")
			}
			return t.files(c.Context(), args)
		},
	}
	s.flags(c)
	c.Flags().StringVar(&key, "key", "", "show only what this `ADDRESS` did and counted")
	return c
}

// tuneJob is one run of the command.
type tuneJob struct {
	env      *env
	settings *settings
	key      netip.Addr // the only one to show, if it is valid
	book     *evidence.Book
}

// files reads the files and prints what was found.
func (t *tuneJob) files(ctx context.Context, names []string) error {
	job, err := t.settings.prepare(t.env, names)
	if err != nil {
		return err
	}
	defer job.close()
	job.config.Tune, job.config.Seen, job.takeBack = true, t.book.Add, t.book.Reset
	report, runErr := job.run(ctx)
	if report.Events == 0 && runErr != nil {
		return runErr
	}
	if err := t.print(job, report); err != nil {
		return err
	}
	return runErr
}

func (t *tuneJob) print(j *job, r *replay.Report) error {
	text := tune.Text{Out: t.env.stdout, Colour: t.env.colour}
	if t.key.IsValid() {
		text.Key(r, t.book, t.key)
		return nil
	}
	var findings []*tune.Finding
	for i := range r.Rules {
		findings = append(findings, tune.Find(&r.Rules[i], t.book, t.settings.rows))
	}
	if t.settings.json {
		return tune.JSON(t.env.stdout, findings)
	}
	j.printInputs(r)
	for _, f := range findings {
		fmt.Fprintln(t.env.stdout)
		j.printRule(f.RuleReport)
		if f.Tally.Peaks.Total() == 0 {
			fmt.Fprintf(t.env.stdout, "no event matched\n")
			continue
		}
		text.Distribution(f)
		j.printWide(f.RuleReport)
		text.Thresholds(f)
	}
	j.printWarnings(r)
	return nil
}
