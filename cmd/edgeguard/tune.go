package main

import (
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"os"

	"github.com/spf13/cobra"

	"edgeguard/cmd/edgeguard/command"
	"edgeguard/cmd/edgeguard/tune"
	"edgeguard/replay"
	"edgeguard/tuning/evidence"
)

func tuneCommand(e *command.Env) *cobra.Command {
	var s settings
	var key string
	var normal []string
	var html string
	c := &cobra.Command{
		Use:   "tune [flags] FILE…",
		Short: "Show what each threshold would have caught, and suggest one",
		Long: `tune runs recorded events through the rules and shows, for each rule, the
distribution of the keys' highest counts, the highest keys with what they did, and
what each threshold would have refused. It suggests a threshold above all that look
like customers, if nearly all above it look hostile, and never one that is worse than
the rule as it is. Compare the log of an attack with one of a normal day by --normal.
Where the files can be read twice, it also names presets that would refuse more, and
proposes rules for paths at which none looks, as YAML for the config.`,
		Example: `  edgeguard tune /var/log/nginx/access.log
  edgeguard tune --config edgeguard.yaml --rule login access.log access.log.1.gz
  edgeguard tune --normal access.log.7.gz access.log
  edgeguard tune --html report.html access.log
  edgeguard tune --key 203.0.113.9 access.log
  edgeguard tune --window 1m --json access.log`,
		Args: someFiles,
		RunE: func(c *cobra.Command, args []string) error {
			if err := s.check(c); err != nil {
				return err
			}
			t := tuneJob{env: e, settings: &s, normal: normal, html: html}
			if key != "" {
				addr, err := netip.ParseAddr(key)
				if err != nil {
					return command.Usage(fmt.Errorf("tune: --key %q is not an address: use 203.0.113.9 or 2001:db8::1", key))
				}
				t.key = addr.Unmap().WithZone("")
			}
			return t.files(c.Context(), args)
		},
	}
	s.flags(e, c)
	c.Flags().StringSliceVar(&normal, "normal", nil, "a `FILE` of a normal day to compare with (may be repeated): no threshold refuses what it shows")
	c.Flags().StringVar(&html, "html", "", "also write the report to this `FILE`, as one page with plots")
	c.Flags().StringVar(&key, "key", "", "show only what this `ADDRESS` did and counted")
	return c
}

// tuneJob is one run of the command.
type tuneJob struct {
	env      *command.Env
	settings *settings
	key      netip.Addr // the only one to show, if it is valid
	normal   []string   // files of a normal day
	html     string     // the file for a page
}

// tunedLog is a log that was read, and what its addresses did.
type tunedLog struct {
	*job
	book   *evidence.Book
	report *replay.Report
}

// files reads the files and prints what was found.
func (t *tuneJob) files(ctx context.Context, names []string) error {
	log, err := t.read(ctx, t.settings, names)
	if log == nil {
		return err
	}
	defer log.close()
	var normal *tunedLog
	if len(t.normal) > 0 {
		var normalErr error
		ofNormal := *t.settings
		ofNormal.within = nil // it is of the day to look at
		if normal, normalErr = t.read(ctx, &ofNormal, t.normal); normalErr != nil {
			return fmt.Errorf("--normal: %w", normalErr)
		}
		defer normal.close()
	}
	if printErr := t.print(ctx, log, normal); printErr != nil {
		return printErr
	}
	return err
}

// read replays files. The log is nil if the error left nothing to show.
func (t *tuneJob) read(ctx context.Context, s *settings, names []string) (*tunedLog, error) {
	job, err := s.prepare(t.env, names)
	if err != nil {
		return nil, err
	}
	log := &tunedLog{job: job, book: evidence.NewBook(0)}
	log.book.Watch(job.limits.Specs)
	job.config.Tune, job.config.Seen, job.takeBack = true, log.book.Add, log.book.Reset
	log.report, err = job.run(ctx)
	if log.report.Events == 0 && err != nil {
		job.close()
		return nil, err
	}
	return log, err
}

func (t *tuneJob) print(ctx context.Context, log, normal *tunedLog) error {
	text := tune.Text{Out: t.env.Stdout, Colour: t.env.Colour}
	if t.key.IsValid() {
		text.Key(log.report, log.book, t.key)
		return nil
	}
	var findings []*tune.Found
	for i := range log.report.Rules {
		findings = append(findings, tune.Find(i, &log.report.Rules[i], normal.normal(i), log.book, t.settings.rows))
	}
	if err := t.check(ctx, log, findings); err != nil {
		return err
	}
	proposed, err := t.propose(ctx, log, normal)
	if err != nil {
		return err
	}
	if err := t.page(log, findings, proposed); err != nil {
		return err
	}
	if t.env.JSON {
		log.printZone(t.env.Stderr)
		return tune.JSON(t.env.Stdout, log.report.FrontDoor, findings, proposed.rules, proposed.presets)
	}
	log.printInputs(log.report)
	log.printLeftOut(log.report)
	if normal != nil {
		fmt.Fprintln(t.env.Stdout, "compared with a normal day:")
		normal.printInputs(normal.report)
	}
	if len(findings) > 1 && len(t.settings.only) == 0 {
		text.Summary(findings)
	} else {
		for _, f := range findings {
			log.printFound(text, f)
		}
	}
	text.Rules(proposed.rules)
	text.Presets(proposed.presets)
	log.printWarnings(log.report)
	return nil
}

// printFound prints all that was found of a rule, the suggestion first.
func (l *tunedLog) printFound(text tune.Text, f *tune.Found) {
	fmt.Fprintln(text.Out)
	printLimit(l.env, f.RuleReport.Rule, f.RuleReport.Meter)
	if f.Tally.Peaks.Total() == 0 {
		fmt.Fprintln(text.Out, "no event matched")
		return
	}
	text.Suggestion(f)
	text.Distribution(f)
	l.printWide(f.RuleReport)
	text.Thresholds(f)
}

// page writes the report as a page, if there is a file for it.
func (t *tuneJob) page(log *tunedLog, findings []*tune.Found, proposed proposal) error {
	if t.html == "" {
		return nil
	}
	report := tune.Page{Files: log.names, Normal: t.normal, First: log.report.First, Last: log.report.Last, Events: log.report.Events, Findings: findings, Presets: proposed.presets, Proposed: proposed.rules}
	var out bytes.Buffer
	if err := report.Write(&out); err != nil {
		return err
	}
	if err := os.WriteFile(t.html, out.Bytes(), 0o600); err != nil {
		return fmt.Errorf("--html: %w", err)
	}
	return nil
}

// normal is what rule i counted on a normal day; nil without a log of one.
func (l *tunedLog) normal(i int) *evidence.Normal {
	if l == nil {
		return nil
	}
	return evidence.NormalOf(l.report.Rules[i].Tally, l.book)
}
