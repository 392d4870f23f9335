package main

import (
	"bufio"
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// mostDelay is what was promised for the time from the request that crosses a
// limit to a refusal: the second that nginx keeps a pass, and the way through
// the log.
const mostDelay = 1100 * time.Millisecond

// toCross is the request of [nodeConf]'s rule login that goes over the limit:
// threshold 20 × guard 0.95.
const toCross = 20

// cross takes the time from the crossing request to the first refusal, once a
// client. Eight at a time, so that the machine is not what is measured.
func (b *bench) cross(ctx context.Context) error {
	if b.crossers == 0 {
		return nil
	}
	s, err := b.startSite(ctx, cachedArm, "crossing")
	defer s.stop()
	if err != nil {
		return err
	}
	const together = 8
	b.delays = make([]time.Duration, b.crossers)
	errs := make([]error, together)
	var wg sync.WaitGroup
	for first := range together {
		wg.Go(func() {
			for n := first; n < b.crossers && errs[first] == nil; n += together {
				b.delays[n], errs[first] = refusalDelay(ctx, s.address, n)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// refusalDelay makes client n cross the limit at any moment of its cached
// pass's life, and asks until it is refused.
func refusalDelay(ctx context.Context, address string, n int) (time.Duration, error) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		return 0, err
	}
	r := bufio.NewReader(c)
	ask := func(what string) (status int, err error) {
		if _, err := c.Write(appendRequest(nil, what, n)); err != nil {
			return 0, err
		}
		return readAnswer(r)
	}
	for range toCross - 1 {
		status, err := ask("POST /wp-login.php")
		if err != nil {
			return 0, err
		}
		if status == 429 {
			return 0, errors.New("refused before the limit was crossed")
		}
	}
	time.Sleep(rand.N(2 * time.Second))
	start := time.Now()
	if _, err := ask("POST /wp-login.php"); err != nil {
		return 0, err
	}
	for ctx.Err() == nil {
		status, err := ask("GET /x.txt")
		if err != nil {
			return 0, err
		}
		if status == 429 {
			return time.Since(start), nil
		}
		if time.Since(start) > 30*time.Second {
			return 0, errors.New("no refusal within 30 s")
		}
		time.Sleep(5 * time.Millisecond)
	}
	return 0, ctx.Err()
}
