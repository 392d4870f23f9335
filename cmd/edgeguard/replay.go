package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"edgeguard"
	"edgeguard/config"
	"edgeguard/internal/hugepage"
	"edgeguard/replay"
)

func replayCommand(e *env) *cobra.Command {
	var s settings
	c := &cobra.Command{
		Use:   "replay [flags] FILE…",
		Short: "Show whom the rules would have blocked in a log or a capture",
		Long: `replay runs recorded events through the rules, on a clock made of the events'
own times, and shows which addresses would have been blocked, when and by which
rule. It reads access logs and pcap or pcapng captures, gzipped or not, and -
for standard input. Several files are merged by time. Nothing is enforced.

With --fleet, each node that the events name counts for itself, and a real Redis
adds them up, as a live fleet does: whom would all nodes together have blocked?
The Redis needs the function library ('edgeguard fleet install').`,
		Example: `  edgeguard replay /var/log/nginx/access.log
  edgeguard replay --threshold 300 --window 5m access.log access.log.1.gz
  edgeguard replay --config edgeguard.yaml --rule login access.log
  edgeguard replay --kind syn --local 192.0.2.0/24 mirror.pcap
  edgeguard replay --fleet redis://127.0.0.1:6379 --format csv:time=when,addr=src,node=host all.csv
  zcat old.gz | edgeguard replay --format combined --json -`,
		Args: files,
		RunE: func(c *cobra.Command, args []string) error {
			if err := s.check(c); err != nil {
				return err
			}
			return replayFiles(c.Context(), e, &s, args)
		},
	}
	s.flags(c)
	c.Flags().StringVar(&s.fleet, "fleet", "", "add the nodes' counts up in the Redis at this `URL`")
	return c
}

// replayFiles is the command: files in, a table or JSON out.
func replayFiles(ctx context.Context, e *env, s *settings, names []string) error {
	job, err := s.prepare(e, names)
	if err != nil {
		return err
	}
	defer job.inputs.close()
	var printer jsonPrinter
	if s.json {
		printer = jsonPrinter{out: e.stdout}
		job.config.Crossed = printer.crossing
	}
	report, runErr := job.run(ctx)
	if report == nil || report.Events == 0 && runErr != nil {
		return runErr
	}
	if s.json {
		printer.summary(report, job.inputs.total().skipped)
		if printer.err != nil {
			return printer.err
		}
	} else {
		job.printReplay(report)
	}
	return runErr
}

// job is a replay that is ready to run.
type job struct {
	env      *env
	settings *settings
	inputs   inputs
	config   replay.Config
	limits   *config.Config
}

// prepare opens the files and finds the rules.
func (s *settings) prepare(e *env, names []string) (*job, error) {
	local, err := s.prefixes()
	if err != nil {
		return nil, err
	}
	capture := sniff(e, names[0], s.format)
	conf, err := s.load(capture)
	if err != nil {
		return nil, err
	}
	var window time.Duration
	for i := range conf.Rules.Meters {
		window = max(window, conf.Rules.Meters[i].Window)
	}
	o := inputOptions{format: s.format, window: window, kinds: conf.Rules.Kinds(), local: local, stdin: e.stdin, stdinCapture: capture}
	all, err := o.openAll(names)
	if err != nil {
		return nil, err
	}
	return &job{env: e, settings: s, inputs: all, limits: conf, config: replay.Config{
		Rules: conf.Rules, Allow: conf.Allowlist, Memory: hugepage.Memory(conf.Memory),
	}}, nil
}

// run replays the inputs, drawing the progress.
func (j *job) run(ctx context.Context) (*replay.Report, error) {
	source := j.inputs.source()
	if j.settings.sort {
		source = replay.Sort(source)
	}
	p := newProgress(j.env)
	defer p.done()
	watched := watch{source: source, seen: func(events uint64) {
		if p.due() {
			t := j.inputs.total()
			p.draw(events, t.read, t.total)
		}
	}}
	return j.replay(ctx, &watched)
}

// watch is a source that tells how many events have passed.
type watch struct {
	source replay.Source
	events uint64
	seen   func(events uint64)
}

// Next implements replay.Source.
func (w *watch) Next() ([]edgeguard.Event, error) {
	events, err := w.source.Next()
	w.events += uint64(len(events))
	w.seen(w.events)
	return events, err
}

// printReplay shows the report to people.
func (j *job) printReplay(r *replay.Report) {
	j.printInputs(r)
	for i := range r.Rules {
		j.printRule(&r.Rules[i])
	}
	j.printOffenders(r)
	j.printWarnings(r)
}

// printInputs says what was read.
func (j *job) printInputs(r *replay.Report) {
	out := j.env.stdout
	for _, in := range j.inputs {
		s := in.status()
		units := "lines"
		if in.what == "capture" {
			units = "packets"
		}
		fmt.Fprintf(out, "%s: %s, %s %s", in.name, in.what, number(s.units), units)
		if s.skipped > 0 {
			fmt.Fprintf(out, ", %s skipped", number(s.skipped))
		}
		fmt.Fprintln(out)
	}
	if r.Events > 0 {
		fmt.Fprintf(out, "%s from %s to %s\n", plural(r.Events, "event", "events"), instant(r.First), instant(r.Last))
	}
}

// printRule says what a rule does, with its limit beside its threshold.
func (j *job) printRule(rr *replay.RuleReport) {
	r := rr.Rule
	what := r.Action.String()
	if r.Action == edgeguard.ActionBlock {
		what += " for " + span(r.BlockFor)
	}
	fmt.Fprintf(j.env.stdout, "rule %s: over %s in %s (threshold %s × guard %s): %s\n", r.Name,
		number(r.Limit), span(rr.Meter.Window), number(r.Threshold), r.Guard, what)
}

// printOffenders lists the keys that crossed a limit, or says that none did.
func (j *job) printOffenders(r *replay.Report) {
	out := j.env.stdout
	var all []replay.Offender
	for i := range r.Rules {
		all = append(all, r.Rules[i].Offenders...)
	}
	if len(all) == 0 {
		j.printNobody(r)
		return
	}
	sortOffenders(all)
	t := &table{}
	t.column("first crossed", false, "")
	t.column("key", false, red)
	t.column("action", false, "")
	t.column("rule", false, "")
	t.column("count", true, "")
	t.column("limit", true, faint)
	t.column("times", true, "")
	t.column("peak", true, "")
	t.column("refused", true, amber)
	shown := limitRows(all, j.settings.rows)
	for _, o := range shown {
		t.row(instant(o.First), o.Key.String(), o.Action.String(), o.Rule, number(o.Count), number(o.Limit),
			number(o.Crossings), number(o.Peak), number(o.Refused))
	}
	fmt.Fprintln(out)
	t.print(out, j.env.colour)
	if len(shown) < len(all) {
		fmt.Fprintf(out, "… and %s more (--rows 0 shows all)\n", number(len(all)-len(shown)))
	}
	fmt.Fprintf(out, "\n%s\n", summarySentence(r))
}
