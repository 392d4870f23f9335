package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"edgeguard"
	"edgeguard/cmd/edgeguard/command"
	"edgeguard/cmd/edgeguard/output"
	"edgeguard/config"
	"edgeguard/crawlers/lookup"
	"edgeguard/detector"
	"edgeguard/hostaddr"
	"edgeguard/internal/hugepage"
	"edgeguard/internal/words"
	"edgeguard/replay"
)

func replayCommand(e *command.Env) *cobra.Command {
	var s settings
	c := &cobra.Command{
		Use:   "replay [flags] FILE…",
		Short: "Show which addresses the rules would have blocked in a log or a capture",
		Long: `replay runs recorded events through the rules, with the events' own times as the
clock, and shows which addresses would have been blocked, when and by which
rule. It reads access logs and pcap or pcapng captures, gzipped or not, and -
for standard input. Several files are merged by time. Nothing is enforced. If
more than 5 % of the events came too late to be counted, the files are read
again and sorted, as long as the events fit into the config's ` + "`memory`" + ` (512 MiB by default).
Crawlers of the config are verified by their range files; DNS is not asked.

With --fleet, each node named in the events counts for itself and a real Redis
adds up the counts, as in a live fleet, to show which addresses all nodes
together would have blocked. The Redis needs the function library ('edgeguard
fleet install').`,
		Example: `  edgeguard replay /var/log/nginx/access.log
  edgeguard replay --threshold 300 --window 5m access.log access.log.1.gz
  edgeguard replay --config edgeguard.yaml --rule login access.log
  edgeguard replay --since 24h /var/log/nginx/access.log.1 /var/log/nginx/access.log
  edgeguard replay --kind syn --local 192.0.2.0/24 mirror.pcap
  edgeguard replay --fleet redis://127.0.0.1:6379 --format csv:time=when,addr=src,node=host all.csv
  zcat old.gz | edgeguard replay --format combined --json -`,
		Args: someFiles,
		RunE: func(c *cobra.Command, args []string) error {
			if err := s.check(c); err != nil {
				return err
			}
			return replayFiles(c.Context(), e, &s, args)
		},
	}
	s.flags(e, c)
	c.Flags().StringVar(&s.fleet, "fleet", "", "add up the nodes' counts in the Redis at this `URL`")
	return c
}

// replayFiles is the command: files in, a table or JSON out.
func replayFiles(ctx context.Context, e *command.Env, s *settings, names []string) error {
	job, err := s.prepare(e, names)
	if err != nil {
		return err
	}
	defer job.close()
	out := &pendingOutput{out: e.Stdout, open: !job.mayRepeat()}
	printer := jsonPrinter{out: out, protected: job.config.Protected}
	if e.JSON {
		job.config.Crossed, job.config.Lifted = printer.crossing, printer.lifted
		job.printed = func() bool { return out.open }
		job.takeBack = func() { out.drop(); printer.blocks = 0 }
	}
	report, runErr := job.run(ctx)
	if report == nil || report.Events == 0 && runErr != nil {
		return runErr
	}
	if e.JSON {
		job.printZone(e.Stderr)
		job.printOrder(e.Stderr)
		printer.summary(report, job.inputs.total(), job.order == orderSorted)
		if err := cmp.Or(printer.err, out.flush()); err != nil {
			return err
		}
	} else {
		job.printReplay(report)
	}
	return runErr
}

// job is a replay that is ready to run.
type job struct {
	env      *command.Env
	settings *settings
	names    []string
	options  inputOptions
	inputs   inputs
	config   replay.Config
	limits   *config.Config

	// order is what came of files whose events are out of order, and lateShare
	// how many of them came too late at that point.
	order     fileOrder
	lateShare string
	// printed, if set, reports that what was printed of a run is out, and
	// takeBack takes back what is not.
	printed  func() bool
	takeBack func()
}

func (j *job) close() { j.inputs.close() }

// prepare opens the files and finds the rules.
func (s *settings) prepare(e *command.Env, names []string) (*job, error) {
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
	if s.sort {
		window = 0 // in order of time nothing that comes too early makes anything late
	}
	byZone := zones{s.zone, conf.Sensors.AccessLog}
	if _, _, err := byZone.of(""); err != nil {
		return nil, err
	}
	o := inputOptions{format: s.format, zones: byZone, window: window, kinds: conf.Rules.Kinds(), asks: conf.Rules.NeedsAnswers(), local: local, period: s.within, stdin: e.Stdin, stdinCapture: capture}
	all, err := o.openAll(names)
	if err != nil {
		return nil, err
	}
	known, err := lookup.Recorded(conf.Crawlers)
	if err == nil && s.alone && s.kind == "" && all.ofLogins() { // which is known only now
		s.kind = edgeguard.KindAuthFailure.String()
		conf, err = s.load(capture)
	}
	if err != nil {
		all.close()
		return nil, err
	}
	if names := lookup.Unasked(conf.Crawlers); len(names) > 0 {
		fmt.Fprintf(e.Stderr, "note: DNS is not asked: who claims to be %s is unknown here\n", strings.Join(names, " or "))
	}
	return &job{env: e, settings: s, names: names, options: o, inputs: all, limits: conf, config: replay.Config{
		Rules: conf.Rules, Own: conf.Own(), Allow: conf.Allowlist, Clients: conf.Clients, Protected: protectedBy(conf), Memory: hugepage.Memory(conf.Memory),
		Crawlers: known, Flood: detector.FloodConfig(conf.Floods), Completions: o.completions(), MaxBlocks: conf.MaxBlocks, MaxRows: int(conf.Memory / config.BlockBytes),
	}}, nil
}

// protectedBy is what every node of a config protects, whatever host it runs on.
func protectedBy(c *config.Config) hostaddr.Set {
	var more []hostaddr.Protected
	for _, p := range c.TrustedProxies {
		more = append(more, hostaddr.Protected{Prefix: p, Reason: "trusted proxy"})
	}
	for _, p := range c.Protected {
		more = append(more, hostaddr.Protected{Prefix: p, Reason: "config"})
	}
	return hostaddr.Everywhere(more...)
}

// run replays the inputs, and a second time in the order of their times if many
// came too late.
func (j *job) run(ctx context.Context) (*replay.Report, error) {
	source := j.inputs.source(j.options.period)
	if j.settings.sort {
		source = replay.SortByTime(source, 0)
	}
	report, err := j.runOnce(ctx, j.inputs, source)
	if err != nil || !outOfOrder(report) || j.settings.sort {
		return report, err
	}
	return j.runSorted(ctx, report)
}

// runOnce replays a source made of these inputs, drawing the progress.
func (j *job) runOnce(ctx context.Context, all inputs, source replay.Source) (*replay.Report, error) {
	p := newProgress(j.env)
	defer p.done()
	watched := watchedSource{source: source, seen: func(events uint64) {
		if p.due() {
			t := all.total()
			p.draw(events, t.read, t.total)
		}
	}}
	return j.replay(ctx, &watched)
}

// watchedSource is a source that reports how many events have passed.
type watchedSource struct {
	source replay.Source
	events uint64
	seen   func(events uint64)
}

// Next implements replay.Source.
func (w *watchedSource) Next() ([]edgeguard.Event, error) {
	events, err := w.source.Next()
	w.events += uint64(len(events))
	w.seen(w.events)
	return events, err
}

// printReplay shows the report to people.
func (j *job) printReplay(r *replay.Report) {
	j.printInputs(r)
	for i := range r.Rules {
		printLimit(j.env, r.Rules[i].Rule, r.Rules[i].Meter)
		for _, c := range r.Rules[i].Candidates {
			fmt.Fprintf(j.env.Stdout, "  candidate %s (limit %s): %s over it, exceeded %s\n", words.Number(c.Threshold), r.Rules[i].Meter.MeasureOf().Amount(c.Limit),
				words.Plural(c.Over, "event", "events"), words.Plural(c.Crossings, "time", "times"))
		}
	}
	j.printOffenders(r)
	j.printFloods(r)
	j.printOutages(r)
	j.printWarnings(r)
}

// printInputs prints what was read.
func (j *job) printInputs(r *replay.Report) {
	out := j.env.Stdout
	j.printZone(out)
	for _, in := range j.inputs {
		s := in.status()
		units := "lines"
		if in.what == "capture" {
			units = "packets"
		}
		fmt.Fprintf(out, "%s: %s, %s %s", in.name, in.what, words.Number(s.units), units)
		if s.skipped > 0 {
			fmt.Fprintf(out, ", %s skipped", words.Number(s.skipped))
		}
		fmt.Fprintln(out)
	}
	if p := j.options.period; p != nil && p.outside > 0 {
		fmt.Fprintf(out, "%s left out by --since or --until, the first of %s, the last of %s\n", words.Plural(p.outside, "event is", "events are"), words.Instant(p.first), words.Instant(p.last))
	}
	if r.Events > 0 {
		fmt.Fprintf(out, "%s from %s to %s\n", words.Plural(r.Events, "event", "events"), words.Instant(r.First), words.Instant(r.Last))
	}
	j.printOrder(out)
}

// printZone prints how times without a zone were read, if there were any, a line for
// each zone.
func (j *job) printZone(out io.Writer) {
	said := ""
	for _, in := range j.inputs {
		if in.status().bare && in.zone != said {
			said = in.zone
			fmt.Fprintf(out, "Times without a zone are read as %s.\n", said)
		}
	}
}

// printOffenders lists the keys that crossed a limit, or says that none did.
func (j *job) printOffenders(r *replay.Report) {
	out := j.env.Stdout
	var all []replay.Offender
	units := make(map[string]words.Measure) // of each rule's counts
	for i := range r.Rules {
		all = append(all, r.Rules[i].Offenders...)
		units[r.Rules[i].Rule.Name] = r.Rules[i].Meter.MeasureOf()
	}
	if len(all) == 0 {
		j.printNobody(r)
		return
	}
	sortOffenders(all)
	t := &output.Table{}
	t.Texts(output.Plain, "first crossed")
	t.Texts(output.Red, "key")
	t.Texts(output.Plain, "action", "rule")
	t.Numbers(output.Plain, "count")
	t.Numbers(output.Faint, "limit")
	t.Numbers(output.Plain, "times", "peak")
	t.Numbers(output.Amber, "refused")
	shown := output.First(all, j.settings.rows)
	for _, o := range shown {
		unit := units[o.Rule]
		t.Row(words.Instant(o.First), o.Key.String(), outcome(&o), o.Rule, unit.Amount(o.Count), unit.Amount(o.Limit),
			words.Number(o.Crossings), unit.Amount(o.Peak), words.Number(o.Refused))
	}
	if r.RowsDropped > 0 {
		fmt.Fprintf(out, "\nNOT ALL ROWS: %s dropped because `memory` (%s MiB) has room for %s; those with the most refused events are kept.\n"+
			"A key that returned after its row was dropped is listed from then on. Numbers of keys are estimates; all other totals are exact.\n",
			words.Plural(r.RowsDropped, "row was", "rows were"), words.Number(j.limits.Memory>>20), words.Number(j.config.MaxRows))
	}
	fmt.Fprintln(out)
	t.Print(out, j.env.Colour)
	if len(shown) < len(all) {
		fmt.Fprintf(out, "… and %s more (--rows 0 shows all)\n", words.Number(len(all)-len(shown)))
	}
	fmt.Fprintf(out, "\n%s\n", summarySentence(r))
}
