package algorithms

import (
	"context"
	"iter"
	"runtime"
	"slices"
	"sync"
	"time"

	"edgeguard/loadtest/limiter"
	"edgeguard/loadtest/limiter/judge"
	"edgeguard/loadtest/traffic"
)

// The addresses of the botnet whose memory a full run measures, and of the one
// that it judges: there is nothing to judge in more of them.
const (
	botnetFull   = 20_000_000
	botnetJudged = 2_000_000
)

// usualSlot is the default's, in seconds.
const usualSlot = 5

// judgeAll fills the scenarios, as many limiters at once as there are
// processors.
func (r *Result) judgeAll(ctx context.Context, o Options) error {
	for _, slot := range slots {
		if err := r.judgeSlot(ctx, o, slot); err != nil {
			return err
		}
	}
	return nil
}

// judgeSlot does so with slots of so many seconds.
func (r *Result) judgeSlot(ctx context.Context, o Options, slot int) error {
	options := traffic.Options{Slot: time.Duration(slot) * time.Second, Botnet: o.Botnet}
	if o.Full && o.Botnet == 0 && slot == usualSlot { // once is enough
		options.Botnet = botnetJudged
	}
	all := traffic.Scenarios(options)
	for i := range all {
		played, err := playAll(ctx, o.Seed, &all[i])
		if err != nil {
			return err
		}
		r.Scenarios = append(r.Scenarios, played)
	}
	return nil
}

// playAll judges all limiters on one scenario.
func playAll(ctx context.Context, seed uint64, s *traffic.Scenario) (Played, error) {
	algorithms := limiter.Algorithms()
	out := Played{Name: s.Name, SlotS: int(s.Window/time.Second) / 60, Nodes: s.Nodes, Rows: make([]Row, len(algorithms))}
	requests := s.Requests(seed)
	if s.Attackers <= botnetJudged { // what fits is drawn once
		requests = slices.Values(slices.Collect(requests))
	}
	errs := make([]error, len(algorithms))
	var all sync.WaitGroup
	free := make(chan bool, runtime.GOMAXPROCS(0))
	for i, k := range algorithms {
		all.Go(func() {
			free <- true
			defer func() { <-free }()
			sentence, err := play(ctx, s, k, requests)
			out.Rows[i], errs[i] = Row{k.Name, sentence}, err
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

// askEvery is which refusals are asked for the time to wait: the first, and so
// on. To look for the true time costs some thirty questions.
const askEvery = 13

// play judges one limiter on one scenario. Each node has a limiter of its own.
func play(ctx context.Context, s *traffic.Scenario, k limiter.Algorithm, requests iter.Seq[traffic.Request]) (judge.Sentence, error) {
	nodes, since := make([]limiter.Local, s.Nodes), k.Since
	for i := range nodes {
		nodes[i] = k.New(s.Limit, s.Window)
	}
	if s.Nodes > 1 { // no node says anything about the others
		since = nil
	}
	j, refused, seen := judge.New(s, since), 0, 0
	var waits judge.Waits
	for q := range requests {
		if seen++; seen%4096 == 0 && ctx.Err() != nil {
			return judge.Sentence{}, ctx.Err()
		}
		now, l := clock(q), nodes[q.Node]
		d, err := l.Take(now, q.Client, q.Cost)
		if err != nil {
			return judge.Sentence{}, err
		}
		j.See(now, q, d)
		if d.Allowed {
			continue
		}
		if refused%askEvery == 0 {
			waits.Refused(l, s.Window, now, q.Client, q.Cost, d)
		}
		refused++
	}
	sentence := j.Sentence()
	sentence.Waits = waits
	return sentence, nil
}
