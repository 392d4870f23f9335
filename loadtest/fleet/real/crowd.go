package real

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"edgeguard/aggregator"
	"edgeguard/internal/sleep"
	"edgeguard/loadtest/redisserver"
)

// What one node of a crowd does: a round of pushes twice a second, as a node of the
// measured fleet does, and a read of the streams that waits.
const (
	roundCalls = 12
	roundKeys  = 2 // a call
)

// Crowd is what so many nodes cost Redis, each of which pushes as one of the measured
// fleet does. They are links of one process.
type Crowd struct {
	Nodes int `json:"nodes"`
	// Keys are those that all pushed in a second. On a busy machine, rounds are late.
	Keys float64 `json:"keys_per_time_second"`
	// CPURound is Redis' processor time of a round, in µs, with a reading of the streams.
	CPURound float64 `json:"cpu_us_a_round"`
}

// roundsASecond is how many rounds a node makes: one each half second less up to a
// tenth.
const roundsASecond = 1 / 0.475

// Fill is how many such nodes fill a processor core of Redis.
func (c *Crowd) Fill() int { return int(1e6 / (roundsASecond * c.CPURound)) }

// crowds measures some sizes, each for a time: how much a node costs Redis depends on
// how many others it serves at the same time.
func crowds(ctx context.Context, r *redisserver.Server, sizes []int, each time.Duration) (all []Crowd, err error) {
	for _, nodes := range sizes {
		one, err := newCrowd(ctx, r, nodes, each)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// newCrowd has so many nodes at work, and measures for a time once all are connected
// and have their keys.
func newCrowd(ctx context.Context, r *redisserver.Server, nodes int, lasts time.Duration) (Crowd, error) {
	working, stop := context.WithCancel(ctx)
	defer stop()
	c := crowd{nodes: nodes, addr: r.Addr}
	ended := make(chan error, 1)
	go func() { ended <- c.run(working) }()
	for sleep.For(ctx, 10*time.Millisecond) && c.begun.Load() < int64(nodes) && len(ended) == 0 {
	}
	sleep.For(ctx, lasts/2)
	before := c.calls.Load()
	cpu, took, err := spent(ctx, r, func() error { sleep.For(ctx, lasts); return ctx.Err() })
	calls := c.calls.Load() - before
	stop()
	if err := errors.Join(err, <-ended); err != nil {
		return Crowd{}, err
	}
	return Crowd{
		Nodes: nodes, Keys: float64(calls) * roundKeys / took.Seconds(),
		CPURound: float64(cpu.Microseconds()) * roundCalls / float64(max(1, calls)),
	}, nil
}

// crowd is some nodes of one size.
type crowd struct {
	nodes int
	addr  string
	begun atomic.Int64 // nodes that have pushed
	calls atomic.Int64 // that were answered
}

// run has all nodes at work until ctx ends.
func (c *crowd) run(ctx context.Context) error {
	errs := make([]error, 2*c.nodes)
	var all sync.WaitGroup
	for i := range c.nodes {
		all.Go(func() { errs[2*i] = c.node(ctx, i) })
		all.Go(func() { errs[2*i+1] = c.reader(ctx) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// node pushes a round every half second.
func (c *crowd) node(ctx context.Context, i int) error {
	conn, r, err := c.connect()
	if err != nil {
		return err
	}
	defer conn.Close()
	// Keys of its own, as most of a large fleet's are.
	l := link{id: aggregator.NodeID(nodeName(i), "0123456789abcdef"), first: i * costKeys, keys: 4 * roundCalls * roundKeys}
	var text, answer []byte
	began := false
	for wait := rand.N(500 * time.Millisecond); sleep.For(ctx, wait); wait = 500*time.Millisecond - rand.N(50*time.Millisecond) {
		text = text[:0]
		for range roundCalls {
			text = l.push(text, roundKeys)
		}
		if _, err := conn.Write(text); err != nil {
			return err
		}
		for range roundCalls {
			if answer, err = readAnswer(r, answer[:0]); err != nil {
				return err
			}
			if answer[0] == '-' {
				return fmt.Errorf("answer of Redis to a push: %s", answer)
			}
		}
		if !began {
			began = true
			c.begun.Add(1)
		}
		c.calls.Add(roundCalls)
	}
	return nil
}

// reader reads the streams, to which nothing comes.
func (c *crowd) reader(ctx context.Context) error {
	conn, r, err := c.connect()
	if err != nil {
		return err
	}
	defer conn.Close()
	var answer []byte
	for sleep.For(ctx, rand.N(10*time.Millisecond)) {
		text := appendWords(appendHead(nil, 10), "XREAD", "COUNT", "1000", "BLOCK", "400", "STREAMS", "eg:{cost/b}:stream", costStream, "$", "$")
		if _, err := conn.Write(text); err != nil {
			return err
		}
		if answer, err = readAnswer(r, answer[:0]); err != nil {
			return err
		}
	}
	return nil
}

func (c *crowd) connect() (net.Conn, *bufio.Reader, error) {
	conn, err := net.Dial("tcp", c.addr)
	if err != nil {
		return nil, nil, err
	}
	return conn, bufio.NewReader(conn), conn.SetDeadline(time.Now().Add(patience))
}
