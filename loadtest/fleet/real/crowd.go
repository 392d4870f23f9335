package real

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
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

// crowdSizes are how many nodes are imitated: how much a node costs Redis depends on
// how many others it serves at the same time.
var crowdSizes = []int{8, 64, 256}

// Crowd is what so many nodes cost Redis, each of which pushes as one of the measured
// fleet does. They are links of one process.
type Crowd struct {
	Nodes int `json:"nodes"`
	// Keys are those that all pushed in a second.
	Keys float64 `json:"keys_per_time_second"`
	// CPUNode is Redis' processor time of a node and second, in µs.
	CPUNode float64 `json:"cpu_us_a_node"`
}

// crowds measures each size for a time.
func crowds(ctx context.Context, r *redisserver.Server, each time.Duration) (all []Crowd, err error) {
	for _, nodes := range crowdSizes {
		c := crowd{nodes: nodes, addr: r.Addr}
		if err := c.run(ctx, each/4); err != nil { // until all are connected, and have their keys
			return nil, err
		}
		c.calls = 0
		cpu, took, err := spent(ctx, r, func() error { return c.run(ctx, each) })
		if err != nil {
			return nil, err
		}
		all = append(all, Crowd{
			Nodes: nodes, Keys: float64(c.calls) * roundKeys / took.Seconds(),
			CPUNode: float64(cpu.Microseconds()) / took.Seconds() / float64(nodes),
		})
	}
	return all, nil
}

// crowd is some nodes of one size.
type crowd struct {
	nodes int
	addr  string

	mu    sync.Mutex // guards calls
	calls int        // that were answered
}

// run has all nodes at work for a time.
func (c *crowd) run(ctx context.Context, lasts time.Duration) error {
	until, cancel := context.WithTimeout(ctx, lasts)
	defer cancel()
	errs := make([]error, 2*c.nodes)
	var all sync.WaitGroup
	for i := range c.nodes {
		all.Go(func() { errs[2*i] = c.node(until, i) })
		all.Go(func() { errs[2*i+1] = c.reader(until) })
	}
	all.Wait()
	return errors.Join(ctx.Err(), errors.Join(errs...))
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
		c.mu.Lock()
		c.calls += roundCalls
		c.mu.Unlock()
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
