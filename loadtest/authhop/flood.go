package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// What is sent while a flood's effect is measured: on each of the connections
// at a pace of its own, so that a slow answer does not slow the flood.
const (
	floodRounds   = 3
	floodTime     = 2 * time.Second // of a round, without and with the flood
	floodConns    = 16
	ordinaryConns = 8
	ordinaryRate  = 400 // a second
	floodersShare = 10  // every so many-th request of the flood is one client's, at the login
)

// firstFresh is the number of the first client of a flood; those before it are
// ordinary, but for flooder.
const (
	firstFresh = 1 << 17
	flooder    = firstFresh - 1
)

// flooded is what a flood was measured to do at one arm.
type flooded struct {
	*site
	quiet, during []time.Duration // what ordinary requests took
	refused       int             // of the ordinary ones
	flooder       atomic.Int64    // its requests
	denied        atomic.Int64    // of those
	fresh         atomic.Int64    // clients so far
}

// flood takes what ordinary requests take without and with a flood of
// addresses that were never seen before, each of which is counted: of nginx that
// only logs, and with edgeguard beside it.
func (b *bench) flood(ctx context.Context) error {
	if b.floodRate == 0 {
		return nil
	}
	arms, err := pickArms("log,log+edgeguard,tcp," + cachedArm.name)
	if err != nil {
		return err
	}
	for _, a := range arms {
		s, err := b.startSite(ctx, a, "flood-"+a.name)
		defer s.stop()
		if err != nil {
			return err
		}
		b.floods = append(b.floods, &flooded{site: s})
	}
	for round := range floodRounds {
		for i := range b.floods {
			f := b.floods[(i+round)%len(b.floods)]
			if err := errors.Join(f.phase(ctx, &f.quiet, 0), f.phase(ctx, &f.during, b.floodRate)); err != nil {
				return fmt.Errorf("flood at %s: %w", f.name, err)
			}
		}
	}
	return nil
}

// phase asks for a while, and waits until all that was asked is counted.
func (f *flooded) phase(ctx context.Context, took *[]time.Duration, rate int) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var mu sync.Mutex // guards *took
	errs := make([]error, ordinaryConns+floodConns)
	var asked atomic.Int64
	var wg sync.WaitGroup
	for i := range ordinaryConns {
		wg.Go(func() {
			errs[i] = pace(ctx, f.address, ordinaryRate/ordinaryConns, func(k int) (string, int) {
				asked.Add(1)
				return "GET /x.txt", k % 100
			}, func(_, status int, d time.Duration) {
				mu.Lock()
				defer mu.Unlock()
				*took = append(*took, d)
				if status != 200 {
					f.refused++
				}
			})
		})
	}
	for i := range floodConns {
		if rate == 0 {
			break
		}
		wg.Go(func() {
			errs[ordinaryConns+i] = pace(ctx, f.address, rate/floodConns, func(k int) (string, int) {
				asked.Add(1)
				if k%floodersShare == 0 {
					f.flooder.Add(1)
					return "POST /wp-login.php", flooder
				}
				return "GET /x.txt", firstFresh + int(f.fresh.Add(1))
			}, func(n, status int, _ time.Duration) {
				if n == flooder && status == 429 {
					f.denied.Add(1)
				}
			})
		})
	}
	wg.Wait()
	f.asked += uint64(asked.Load())
	_, _, err := f.settled(ctx)
	return errors.Join(append(errs, err)...)
}

// pace sends so many requests a second over one connection for [floodTime], and
// tells of each answer. What an answer took is reckoned from when its request
// was due, if the one before it was not answered by then.
func pace(ctx context.Context, address string, rate int, request func(k int) (what string, n int), answered func(n, status int, d time.Duration)) error {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		return err
	}
	r := bufio.NewReader(c)
	var req []byte
	start, every := time.Now(), time.Second/time.Duration(max(1, rate))
	for k := 0; time.Duration(k)*every < floodTime && ctx.Err() == nil; k++ {
		due := start.Add(time.Duration(k) * every)
		if left := time.Until(due); left > 0 {
			time.Sleep(left)
			due = time.Now() // to oversleep is not nginx's fault
		}
		what, n := request(k)
		req = appendRequest(req[:0], what, n)
		if _, err := c.Write(req); err != nil {
			return err
		}
		status, err := readAnswer(r)
		if err != nil {
			return err
		}
		answered(n, status, time.Since(due))
	}
	return ctx.Err()
}

func (b *bench) printFloods(out io.Writer) {
	if len(b.floods) == 0 {
		return
	}
	fmt.Fprintf(out, "\nordinary requests, %d a second, without and with a flood of %d a second from fresh addresses:\narm\tp50, p99 without\tp50, p99 with\trefused\tflooder refused\twhat\n",
		ordinaryRate, b.floodRate)
	for _, f := range b.floods {
		fmt.Fprintf(out, "%s\t%s\t%s\t%d of %d\t%d of %d\t%s\n", f.name, quantiles(f.quiet), quantiles(f.during),
			f.refused, len(f.quiet)+len(f.during), f.denied.Load(), f.flooder.Load(), f.what)
	}
}

// quantiles returns the half and the 99th hundredth of some.
func quantiles(d []time.Duration) string {
	sorted := slices.Sorted(slices.Values(d))
	at := func(q float64) time.Duration {
		return sorted[int(q*float64(len(sorted)-1))].Round(10 * time.Microsecond)
	}
	return fmt.Sprintf("%v, %v", at(0.50), at(0.99))
}
