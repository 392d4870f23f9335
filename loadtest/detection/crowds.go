package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"edgeguard"
	"edgeguard/config"
	"edgeguard/loadtest/scenes"
	"edgeguard/packaging"
	"edgeguard/replay"
	"edgeguard/rules"
	"edgeguard/shard"
	"edgeguard/tuning"
)

// Rules that count everybody together have limits that each node learns. Here a log or a scene in which no crowd
// attacks is judged by what the others teach.

// quietLogs are the real logs in which no crowd attacks, one of them up to crowdComes.
var quietLogs = []string{
	crowded, "weblog-joomla-almhuette-2019", "weblog-elastic-apache", "weblog-vps-2024-agung", "weblog-nginx-2016-karuppaiah",
	"lab-attacks-2019-kit0415", "weblog-scanner-acunetix", "weblog-scanner-netsparker", "gunicorn-alb-2025-mrpt",
}

// crowded is the log that has an attack by a crowd on its last days.
const crowded = "weblog-wordpress-2016"

var crowdComes = time.Date(2016, 3, 27, 0, 0, 0, 0, time.UTC)

// The kinds of quiet traffic.
const (
	realLogs      = "real logs"
	peoplesScenes = "scenes of people and programs"
	busyScenes    = "a sale's evening, a mailing"
	outageScenes  = "scenes of sites that fail"
)

// quiet is traffic in which no crowd attacks.
type quiet struct {
	name, kind string
	play       func() (replay.Source, error)
	most       map[string]uint32 // the greatest count of each rule that learns
}

// crowdJudge judges those rules of a config that learn their limits.
type crowdJudge struct {
	config *config.Config
	learns []string
	quiet  []*quiet
}

func newCrowdJudge() (*crowdJudge, error) {
	c, err := config.Parse(packaged, []byte(packaging.Config))
	j := &crowdJudge{config: c}
	for i := range c.Specs {
		if c.Specs[i].Learned {
			j.learns = append(j.learns, c.Specs[i].Name)
		}
	}
	return j, err
}

// withLimits returns the rules with these thresholds; one of 0 is none.
func (j *crowdJudge) withLimits(limits map[string]uint32) (*rules.Set, error) {
	specs := slices.Clone(j.config.Specs)
	for i := range specs {
		if n := limits[specs[i].Name]; specs[i].Learned && n > 0 {
			specs[i].Threshold, specs[i].Pending = n, false
		}
	}
	set, problems := rules.Compile(specs)
	if len(problems) > 0 {
		return nil, errors.New(problems[0].String())
	}
	return set, nil
}

// toldCrowd is what was told of a crowd.
type toldCrowd struct {
	rule, key string
	at        time.Time
}

// run replays events, and returns what was told of crowds, with the report.
func (j *crowdJudge) run(ctx context.Context, limits map[string]uint32, source replay.Source) (all []toldCrowd, r *replay.Report, err error) {
	set, err := j.withLimits(limits)
	if err != nil {
		return nil, nil, err
	}
	r, err = replay.Run(ctx, source, replay.Config{
		Rules: set, Memory: shard.NewMemory(512 << 20), Tune: true,
		Clients: []netip.Prefix{netip.PrefixFrom(netip.IPv4Unspecified(), 0), netip.PrefixFrom(netip.IPv6Unspecified(), 0)},
		Crossed: func(c edgeguard.Crossing) {
			if slices.Contains(j.learns, c.Rule) && !c.Excused {
				all = append(all, toldCrowd{c.Rule, c.Key.With, c.Time})
			}
		},
	})
	return all, r, err
}

// some passes some of the events.
type some struct {
	source replay.Source
	keep   func(*edgeguard.Event) bool
}

func (s some) Next() ([]edgeguard.Event, error) {
	events, err := s.source.Next()
	kept := events[:0]
	for i := range events {
		if s.keep(&events[i]) {
			kept = append(kept, events[i])
		}
	}
	return kept, err
}

// openCrowded opens the log with the attack: what was before it, or the rest.
func openCrowded(data string, before bool) (replay.Source, error) {
	r, err := openLog(filepath.Join(data, crowded))
	return some{r, func(e *edgeguard.Event) bool { return e.Time.Before(crowdComes) == before }}, err
}

// playScene returns the events of a scene.
func playScene(s scenes.Scene, seed int) (*memory, map[netip.Addr]bool, error) {
	traffic := s.Play(uint64(seed) + 1)
	events, err := parseScene(traffic.Log)
	return &memory{events}, traffic.Attackers, err
}

// listQuiet lists all traffic in which no crowd attacks.
func (j *crowdJudge) listQuiet(data string, seeds int) {
	for _, log := range quietLogs {
		j.quiet = append(j.quiet, &quiet{name: log, kind: realLogs, play: func() (replay.Source, error) {
			if log == crowded {
				return openCrowded(data, true)
			}
			return openLog(filepath.Join(data, log))
		}})
	}
	for _, s := range scenes.Scenes() {
		kind := peoplesScenes
		switch {
		case s.Kind == scenes.Attack || strings.HasSuffix(s.Name, attackedToo) || strings.HasSuffix(s.Name, ", raided"):
			continue
		case s.Kind == scenes.Outage:
			kind = outageScenes
		case s.Name == "sale" || s.Name == "mailing":
			kind = busyScenes
		}
		for seed := range seeds {
			j.quiet = append(j.quiet, &quiet{name: s.Name, kind: kind, play: func() (replay.Source, error) {
				m, _, err := playScene(s, seed)
				return m, err
			}})
		}
	}
}

// learn finds how high all of it counts.
func (j *crowdJudge) learn(ctx context.Context) error {
	for _, q := range j.quiet {
		source, err := q.play()
		if err != nil {
			return fmt.Errorf("%s: %w", q.name, err)
		}
		_, report, err := j.run(ctx, nil, source)
		if err != nil {
			return fmt.Errorf("%s: %w", q.name, err)
		}
		q.most = make(map[string]uint32)
		for i := range report.Rules {
			if r := &report.Rules[i]; r.Rule.Learned {
				q.most[r.Rule.Name] = r.Tally.Peaks.Max()
			}
		}
	}
	return nil
}

// limits returns what `edgeguard tune` would learn if the busiest of the others were an ordinary day. A day on which
// the site fails, or has a sale, is none.
func (j *crowdJudge) limits(but string) map[string]uint32 {
	limits := make(map[string]uint32)
	for _, rule := range j.learns {
		var usual uint32
		for _, q := range j.quiet {
			if q.name != but && q.kind != outageScenes && q.kind != busyScenes {
				usual = max(usual, q.most[rule])
			}
		}
		limits[rule] = tuning.LearnedFrom(usual)
	}
	return limits
}

// toldOf returns what is told of quiet traffic, and the greatest share of a limit that it counts.
func (j *crowdJudge) toldOf(ctx context.Context, q *quiet) (all []toldCrowd, nearest float64, err error) {
	limits := j.limits(q.name)
	for rule, limit := range limits {
		nearest = max(nearest, float64(q.most[rule])/float64(max(limit, 1)))
	}
	if nearest <= 1 {
		return nil, nearest, nil
	}
	source, err := q.play()
	if err == nil {
		all, _, err = j.run(ctx, limits, source)
	}
	return all, nearest, err
}

// printCrowds prints what the rules that learn tell.
func printCrowds(ctx context.Context, out io.Writer, data string, seeds int) error {
	j, err := newCrowdJudge()
	if err != nil {
		return err
	}
	j.listQuiet(data, seeds)
	if err := j.learn(ctx); err != nil {
		return err
	}
	table(out, "no crowd attacks", "logs", "told", "over a limit while the site failed", "the nearest")
	for _, kind := range []string{realLogs, peoplesScenes, busyScenes, outageScenes} {
		if err := j.printQuiet(ctx, out, kind); err != nil {
			return err
		}
	}
	fmt.Fprintln(out)
	table(out, "a crowd attacks", "rule", "limit", "over it after, at one node", "at three, each client at one of them", "at three in turns")
	for _, name := range []string{"residential", "stuffing-500", "scrapers"} {
		if err := j.printCrowd(ctx, out, name); err != nil {
			return err
		}
	}
	return j.printCrowded(ctx, out, data)
}

// printQuiet prints what is told of one kind of quiet traffic.
func (j *crowdJudge) printQuiet(ctx context.Context, out io.Writer, kind string) error {
	logs, excused, far, nearest, said := 0, 0, 0.0, "", []string{}
	for _, q := range j.quiet {
		if q.kind != kind {
			continue
		}
		logs++
		all, near, err := j.toldOf(ctx, q)
		if err != nil {
			return fmt.Errorf("%s: %w", q.name, err)
		}
		if near > 1 && len(all) == 0 {
			excused++
		}
		if near > far {
			far, nearest = near, q.name
		}
		for _, one := range all {
			said = append(said, q.name+": "+one.rule+" "+one.key)
		}
	}
	fmt.Fprintf(out, "| %s | %d | %s | %d | %s, %.0f %% of a limit |\n", kind, logs, cmp.Or(strings.Join(said, "; "), "0"), excused, nearest, 100*far)
	return nil
}

// printCrowd prints how soon the crowd of a scene is told, at one node and at three.
func (j *crowdJudge) printCrowd(ctx context.Context, out io.Writer, name string) error {
	scene, limits := sceneOf(name), j.limits("")
	turn := 0
	at := []func(e *edgeguard.Event) int{
		func(*edgeguard.Event) int { return 0 },
		func(e *edgeguard.Event) int {
			h := fnv.New32a()
			h.Write(e.Addr.AsSlice())
			return int(h.Sum32() % 3)
		},
		func(*edgeguard.Event) int { turn++; return turn % 3 },
	}
	cells, rule := []string{}, ""
	for i, nodes := range []int{1, 3, 3} {
		var each []string
		for node := range nodes {
			m, attackers, err := playScene(scene, 0)
			if err != nil {
				return err
			}
			first := m.events[slices.IndexFunc(m.events, func(e edgeguard.Event) bool { return attackers[e.Addr] })].Time
			turn = 0
			all, _, err := j.run(ctx, limits, some{m, func(e *edgeguard.Event) bool { return at[i](e) == node }})
			if err != nil {
				return err
			}
			after := "never"
			if len(all) > 0 {
				rule, after = all[0].rule, window(all[0].at.Sub(first).Round(time.Minute))
			}
			each = append(each, after)
		}
		cells = append(cells, strings.Join(each, ", "))
	}
	fmt.Fprintf(out, "| %s | %s | %d | %s |\n", name, cmp.Or(rule, "–"), limits[rule], strings.Join(cells, " | "))
	return nil
}

// printCrowded prints what a node tells of the real attack after it has learned from the days before.
func (j *crowdJudge) printCrowded(ctx context.Context, out io.Writer, data string) error {
	source, err := openCrowded(data, true)
	if err != nil {
		return err
	}
	_, before, err := j.run(ctx, nil, source)
	if err != nil {
		return err
	}
	limits := make(map[string]uint32)
	for i := range before.Rules {
		if r := &before.Rules[i]; r.Rule.Learned {
			limits[r.Rule.Name] = r.Tally.SuggestLearned(r.Rule.Guard.Limit).Threshold
		}
	}
	if source, err = openCrowded(data, false); err != nil {
		return err
	}
	all, report, err := j.run(ctx, limits, source)
	if err != nil {
		return err
	}
	for _, one := range all {
		i := slices.IndexFunc(report.Rules, func(r replay.RuleReport) bool { return r.Rule.Name == one.rule })
		fmt.Fprintf(out, "| %s | %s, %s | %d | at %s; at most %d |\n", crowded, one.rule, one.key, limits[one.rule], one.at.UTC().Format(time.DateTime), report.Rules[i].Tally.Peaks.Max())
	}
	return nil
}
