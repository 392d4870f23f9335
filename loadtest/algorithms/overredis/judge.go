package overredis

import (
	"fmt"
	"time"

	"edgeguard/loadtest/limiter"
	"edgeguard/loadtest/limiter/judge"
	"edgeguard/loadtest/traffic"
)

// bench judges one run.
type bench struct {
	scenario *traffic.Scenario
	judge    *judge.Judge
	twin     limiter.Local // which decides alike in memory; nil: there is none
	clients  map[uint32]bool
	refused  int
	waits    judge.Waits
}

// askEvery is which refusals are asked whether the time to wait is true.
const askEvery = 13

func newBench(s *traffic.Scenario, w *way) *bench {
	b := &bench{scenario: s, judge: judge.New(s, nil), clients: make(map[uint32]bool)}
	if w.twin != nil {
		b.twin = w.twin(s.Limit, s.Window)
	}
	return b
}

// see judges a decision. A twin that decides otherwise is an error.
func (b *bench) see(q traffic.Request, d limiter.Decision) error {
	now := time.Duration(traffic.Start.UnixNano()) + q.At
	b.clients[q.Client] = true
	b.judge.See(now, q, d)
	if b.twin == nil {
		return nil
	}
	want, err := b.twin.Take(now, q.Client, q.Cost)
	if err != nil {
		return err
	}
	if want.Allowed != d.Allowed {
		return fmt.Errorf("%s: client %d at %v is allowed: %t, in memory: %t", b.scenario.Name, q.Client, q.At, d.Allowed, want.Allowed)
	}
	if d.Allowed {
		return nil
	}
	if b.refused++; b.refused%askEvery == 1 {
		b.waits.Refused(b.twin, b.scenario.Window, now, q.Client, q.Cost, d)
	}
	return nil
}

// sentence returns what was found.
func (b *bench) sentence() judge.Sentence {
	s := b.judge.Sentence()
	s.Waits = b.waits
	return s
}
