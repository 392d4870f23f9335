//go:build linux

package haproxypeers

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// clients send requests, and know how many.
type clients struct {
	e     *edge
	addrs []netip.Addr
	// begun is how many requests were begun of each address, and attacks how many of them
	// asked for /attack: HAProxy has counted no more.
	begun, attacks []atomic.Uint64
	answered       atomic.Uint64
	errors         atomic.Uint64
}

// newClients returns a crowd that sends nothing yet.
func newClients(e *edge, n int) *clients {
	c := &clients{e: e, begun: make([]atomic.Uint64, n), attacks: make([]atomic.Uint64, n)}
	for i := range n {
		addr := netip.AddrFrom4([4]byte{203, 0, 113, byte(i)})
		if i%4 == 3 {
			addr = netip.MustParseAddr(fmt.Sprintf("2001:db8:0:%x::1", i))
		}
		c.addrs = append(c.addrs, addr)
	}
	return c
}

// send has so many connections send, until the function is called that it returns.
func (c *clients) send(connections int) (stop func()) {
	ctx, cancel := context.WithCancel(c.e.t.Context())
	var sending sync.WaitGroup
	for range connections {
		sending.Go(func() {
			for ctx.Err() == nil {
				if c.converse(ctx) != nil {
					c.errors.Add(1)
				}
			}
		})
	}
	stop = sync.OnceFunc(func() { cancel(); sending.Wait() })
	c.e.t.Cleanup(stop)
	return stop
}

// converse sends requests over one connection until that ends.
func (c *clients) converse(ctx context.Context) error {
	conn, err := c.e.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	answers := bufio.NewReader(conn)
	for ctx.Err() == nil {
		more, err := c.one(conn, answers)
		if err != nil || !more {
			return err
		}
		time.Sleep(3 * time.Millisecond) // a slot of a minute counts 65,535 of an address
	}
	return nil
}

// one sends a request and reads its answer; more says that the connection goes on. A
// request is never sent twice.
func (c *clients) one(conn net.Conn, answers *bufio.Reader) (more bool, err error) {
	i, path := rand.IntN(len(c.addrs)), "/"
	if rand.IntN(3) == 0 {
		path = "/attack"
		c.attacks[i].Add(1)
	}
	c.begun[i].Add(1)
	return c.request(conn, answers, path, c.addrs[i])
}

// request is one of an address.
func (c *clients) request(conn net.Conn, answers *bufio.Reader, path string, addr netip.Addr) (more bool, err error) {
	_ = conn.SetDeadline(time.Now().Add(patience))
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: a\r\nX-Src: %v\r\n\r\n", path, addr); err != nil {
		return false, err
	}
	answer, err := http.ReadResponse(answers, nil)
	if err != nil {
		return false, err
	}
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return false, err
	}
	c.answered.Add(1)
	return !answer.Close, nil
}

// more waits until so many more requests were answered.
func (c *clients) more(n uint64) {
	c.e.t.Helper()
	want := c.answered.Load() + n
	c.e.until("requests are answered", func() bool { return c.answered.Load() >= want })
}

// notOver fails the test if edgeguard counts more of an address than it requested.
func (c *clients) notOver(after string) (counted, begun uint64) {
	c.e.t.Helper()
	for i, addr := range c.addrs {
		all, attacks := c.e.counted(addr, 0), c.e.counted(addr, 1)
		if most := c.begun[i].Load(); all > most {
			c.e.t.Fatalf("after %s: %v is counted %d times and sent %d requests", after, addr, all, most)
		}
		if most := c.attacks[i].Load(); attacks > most {
			c.e.t.Fatalf("after %s: %v is counted %d times for /attack and sent %d requests there", after, addr, attacks, most)
		}
		counted, begun = counted+all, begun+c.begun[i].Load()
	}
	return counted, begun
}

// all reports whether edgeguard counts each request.
func (c *clients) all() bool {
	for i, addr := range c.addrs {
		if c.e.counted(addr, 0) != c.begun[i].Load() || c.e.counted(addr, 1) != c.attacks[i].Load() {
			return false
		}
	}
	return true
}

// Every request is counted once, by each rule that it matches, though edgeguard is
// stopped and killed meanwhile: what HAProxy counted without it is counted when it
// returns.
func TestEveryRequestIsCountedOnce(t *testing.T) {
	e := newEdge(t)
	c := newClients(e, 40)
	stop := c.send(4)
	c.more(500)
	e.Stop() // which saves what was counted
	c.more(500)
	e.start()
	for range 2 {
		c.more(500)
		e.Kill() // it counts again from what was saved
		c.more(500)
		e.start()
		c.notOver("a kill")
	}
	c.more(500)
	stop()
	if n := c.errors.Load(); n > 0 {
		t.Fatalf("%d connections failed", n)
	}
	e.until("every request is counted", c.all)
}

// Nothing is counted twice, whatever is reloaded, stopped, killed or stalled under load.
func TestNeverOver(t *testing.T) {
	e := newEdge(t)
	c := newClients(e, 40)
	stop := c.send(4)
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 1))
	t.Logf("seed %d", seed)
	faults := []struct {
		name string
		do   func()
	}{
		{"a reload of HAProxy", e.reload},
		{"two reloads of HAProxy", func() { e.reload(); c.more(200); e.reload() }},
		{"a stop", func() { e.Stop(); c.more(300); e.start() }},
		{"a kill", func() { e.Kill(); c.more(300); e.start() }},
		{"a reload of HAProxy without edgeguard", func() { e.Kill(); c.more(300); e.reload(); c.more(300); e.start() }},
		{"a kill in a reload of HAProxy", func() { e.reload(); e.Kill(); e.start() }},
	}
	passes := 1
	if full {
		passes = 4
	}
	for range passes {
		rng.Shuffle(len(faults), func(i, j int) { faults[i], faults[j] = faults[j], faults[i] })
		for _, f := range faults {
			c.more(300)
			f.do()
			c.more(1000)
			c.notOver(f.name)
		}
	}
	stop()
	counted, begun := c.notOver("all")
	t.Logf("counted %d of %d requests", counted, begun)
}
