//go:build linux

package haproxypeers

import (
	"bufio"
	"net/netip"
	"os"
	"testing"
	"time"
)

// full is whether the tests run at full length.
var full = os.Getenv("TORTURE") != ""

// process is the number of the HAProxy whose tables are known; 0 if none are.
func (e *edge) process() int {
	s, err := e.admin.Status(e.t.Context())
	if err != nil || len(s.HAProxies) != 1 || len(s.HAProxies[0].HAProxies) != 1 || !s.HAProxies[0].HAProxies[0].Learned {
		return 0
	}
	return s.HAProxies[0].HAProxies[0].PID
}

// A client that is new after a reload is counted by a rule over a minute, and blocked, whatever
// reloads came before. At full length they come each 8 s for two minutes, so that the first is
// older than the window.
func TestNewClientsBetweenReloads(t *testing.T) {
	e := newEdge(t)
	c := newClients(e, 0)
	next, reloads := make(<-chan time.Time), 5
	if full {
		ticker := time.NewTicker(8 * time.Second)
		defer ticker.Stop()
		next, reloads = ticker.C, 14
	}
	e.until("HAProxy has connected", func() bool { return e.process() != 0 }) // one that starts misses the signal
	for i := range reloads {
		if full {
			<-next
		}
		before := e.process()
		e.reload()
		e.until("the new process has connected", func() bool { now := e.process(); return now != 0 && now != before })
		addr := netip.AddrFrom4([4]byte{198, 51, 100, byte(i)})
		n := uint64(50)
		if i == reloads-1 {
			n = 1001
		}
		sent := uint64(0)
		for sent < n {
			sent += c.some(addr, n-sent)
		}
		e.until("each request is counted", func() bool { return e.counted(addr, 2) >= sent })
		if counted := e.counted(addr, 2); counted > sent {
			t.Fatalf("%d of %d requests are counted after reload %d", counted, sent, i+1)
		}
		if i == reloads-1 {
			e.until("the client is blocked", func() bool {
				x, err := e.admin.Explain(t.Context(), addr)
				return err == nil && x.Block != nil
			})
		}
	}
}

// some sends up to n requests of an address over one connection, and returns how many.
func (c *clients) some(addr netip.Addr, n uint64) (sent uint64) {
	c.e.t.Helper()
	conn, err := c.e.dial(c.e.t.Context())
	if err != nil {
		c.e.t.Fatal(err)
	}
	defer conn.Close()
	answers := bufio.NewReader(conn)
	for more := true; more && sent < n; sent++ {
		if more, err = c.request(conn, answers, "/", addr); err != nil {
			c.e.t.Fatal(err)
		}
	}
	return sent
}
