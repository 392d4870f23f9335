package tools

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"edgeguard/loadtest/traffic"
)

// The load while costs are measured comes over so many connections from so many clients: first
// as many requests as fit, for the processor time, then so many a second, for the time that
// one takes.
const (
	costConns, costClients = 32, 100
	costRate               = 4000
	costLimit              = 60_000 // a window, which nobody comes near
)

// Cost is what a request takes that passes. Each value is of rounds by turns; what is added is
// taken within a round.
type Cost struct {
	// ServerCPU and ToolCPU are the processor time of the web server and of what runs
	// beside it, AddedCPU both less the web server's alone; microseconds a request, of as
	// many as fit.
	ServerCPU Spread
	ToolCPU   Spread
	AddedCPU  Spread
	// P50 and P99 are what a request takes at a steady rate, added are those less what it
	// takes of the web server alone; milliseconds.
	P50      Spread
	P99      Spread
	AddedP50 Spread
	AddedP99 Spread
	Lost     uint64 // lines of a log that never arrived
}

// turns are what an arm's turns gave, one value each a round.
type turns struct{ server, beside, p50, p99 []float64 }

// takeTurns measures the sites by turns, each round beginning with another.
func (t *run) takeTurns(ctx context.Context, sites []*site) error {
	all := map[string]*turns{}
	for _, s := range sites {
		all[s.name] = new(turns)
	}
	for round := range 1 + t.rounds {
		t.note("costs, round %d of %d", round, t.rounds)
		for i := range sites {
			s := sites[(i+round)%len(sites)]
			if t.row(s.arm).Missing != "" {
				continue
			}
			into, requests := all[s.name], t.requests
			if round == 0 {
				into, requests = new(turns), t.requests/10 // warms
			}
			if err := s.turn(ctx, requests, into); ctx.Err() != nil {
				return ctx.Err()
			} else if err != nil {
				t.drop(ctx, s.arm, err)
			}
		}
	}
	for _, s := range sites {
		if row := t.row(s.arm); row.Missing == "" {
			row.Cost = cost(all[s.name], all[s.base])
			row.Cost.Lost = s.lost(ctx)
		}
	}
	return nil
}

// cost joins the turns with those of the web server alone, nil for such a one itself, and where
// it was not measured.
func cost(of, alone *turns) *Cost {
	c := &Cost{ServerCPU: spread(of.server), ToolCPU: spread(of.beside), P50: spread(of.p50), P99: spread(of.p99)}
	if alone != nil {
		c.AddedCPU = spread(minus(plus(of.server, of.beside), alone.server))
		c.AddedP50, c.AddedP99 = spread(minus(of.p50, alone.p50)), spread(minus(of.p99, alone.p99))
	}
	return c
}

func plus(a, b []float64) []float64 {
	return pairs(a, b, func(a, b float64) float64 { return a + b })
}

func minus(a, b []float64) []float64 {
	return pairs(a, b, func(a, b float64) float64 { return a - b })
}

// pairs joins the values of the same round.
func pairs(a, b []float64, join func(a, b float64) float64) (out []float64) {
	for i := range min(len(a), len(b)) {
		out = append(out, join(a[i], b[i]))
	}
	return out
}

// turn sends so many requests, and half as many at a steady rate, and takes what that cost.
func (s *site) turn(ctx context.Context, requests int, into *turns) error {
	server0, beside0, err := s.cpu()
	if err != nil {
		return err
	}
	if _, err := s.send(ctx, requests, 0); err != nil {
		return err
	}
	server, beside, err := s.settled(ctx)
	if err != nil {
		return err
	}
	each := func(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) / float64(requests) }
	into.server, into.beside = append(into.server, each(server-server0)), append(into.beside, each(beside-beside0))
	took, err := s.send(ctx, requests/2, time.Second*costConns/costRate)
	if err != nil {
		return err
	}
	slices.Sort(took)
	ms := func(share float64) float64 {
		return float64(took[int(share*float64(len(took)-1))]) / float64(time.Millisecond)
	}
	into.p50, into.p99 = append(into.p50, ms(0.5)), append(into.p99, ms(0.99))
	_, _, err = s.settled(ctx)
	return err
}

// send sends requests, on each connection one each so often, and returns how long each took.
func (s *site) send(ctx context.Context, requests int, every time.Duration) ([]time.Duration, error) {
	took, errs := make([][]time.Duration, costConns), make([]error, costConns)
	began := time.Now()
	var wg sync.WaitGroup
	for i := range costConns {
		wg.Go(func() { took[i], errs[i] = s.sendOver(ctx, began, i, requests, every) })
	}
	wg.Wait()
	all := slices.Concat(took...)
	s.asked += uint64(len(all))
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("%w%s", err, s.said())
	}
	return all, nil
}

// sendOver is one connection's part. What an answer took is reckoned from when its request was
// due, if the one before it was not answered by then.
func (s *site) sendOver(ctx context.Context, began time.Time, first, requests int, every time.Duration) (took []time.Duration, err error) {
	c := conn{address: s.address}
	defer c.close()
	due := began.Add(every * time.Duration(first) / costConns)
	for n := first; n < requests; n += costConns {
		asked := due
		if left := time.Until(due); left > 0 || every == 0 {
			if err := pause(ctx, left); err != nil {
				return nil, err
			}
			asked = time.Now() // to oversleep is not the server's fault
		}
		client := traffic.Request{Client: uint32(n % costClients)}
		status, err := c.ask(ctx, client.Addr())
		if err != nil {
			return nil, err
		}
		if status != passes {
			return nil, fmt.Errorf("a request under the limit was answered %d", status)
		}
		took = append(took, time.Since(asked))
		due = due.Add(every)
	}
	return took, nil
}

// lost returns how many lines of a log never arrived.
func (s *site) lost(ctx context.Context) (sum uint64) {
	if s.node == nil {
		return 0
	}
	status, err := s.node.Status(ctx)
	if err != nil {
		return 0
	}
	for _, log := range status.Logs {
		sum += max(log.Lost, log.Dropped)
	}
	return sum
}
