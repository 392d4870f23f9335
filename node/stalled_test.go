package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/admin/access"
	"edgeguard/admin/console"
	"edgeguard/admin/server"
	"edgeguard/internal/lobby"
)

// stalled is a client that accepts some pieces of its answer, and then no more until
// it is released. A piece is what a connection may wait for: a write or a flush.
type stalled struct {
	accepts int // pieces
	header  http.Header
	status  int
	waits   chan struct{} // closed when the handler waits for the client
	free    chan struct{} // closed when the client goes away
}

var errGone = errors.New("the client has gone away")

func (s *stalled) Header() http.Header    { return s.header }
func (s *stalled) WriteHeader(status int) { s.status = status }
func (s *stalled) Flush()                 { _ = s.piece() }
func (s *stalled) FlushError() error      { return s.piece() }

func (s *stalled) Write(b []byte) (int, error) {
	if s.status == 0 {
		s.status = http.StatusOK
	}
	if err := s.piece(); err != nil {
		return 0, err
	}
	return len(b), nil
}

func (s *stalled) piece() error {
	s.accepts--
	if s.accepts >= 0 {
		return nil
	}
	if s.accepts == -1 {
		close(s.waits)
	}
	<-s.free
	return errGone
}

// desk is the admin API of a node, and clients of it that read nothing.
type desk struct {
	*underTest
	server  *server.Server
	free    chan struct{}
	clients sync.WaitGroup
}

// openDesk takes the server of a node's only admin listener. The clients go away when
// the test ends.
func openDesk(u *underTest) *desk {
	d := &desk{underTest: u, free: make(chan struct{})}
	u.eventually("the admin API answers", func() bool {
		all := u.admin.listeners.All()
		if len(all) == 1 {
			d.server = all[0].Server()
		}
		return d.server != nil
	})
	u.t.Cleanup(d.release)
	return d
}

// release has the clients go away, and waits for their handlers.
func (d *desk) release() {
	select {
	case <-d.free:
	default:
		close(d.free)
	}
	d.clients.Wait()
}

// unixConn is a connection over a unix socket.
type unixConn struct{ net.Conn }

func (unixConn) RemoteAddr() net.Addr { return &net.UnixAddr{Net: "unix"} }

// stall asks for a path and waits until the handler waits for the client, or has
// answered with fewer pieces than the client accepts. It returns the answer's status.
func (d *desk) stall(route, path, accept string, pieces int) int {
	d.t.Helper()
	ctx, cancel := context.WithCancel(access.WithPeer(context.Background(), &lobby.Conn{Conn: unixConn{}}))
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, path, nil)
	r.Host = "localhost"
	r.Header.Set("Accept", accept)
	client := &stalled{accepts: pieces, header: make(http.Header), waits: make(chan struct{}), free: d.free}
	ended := make(chan struct{})
	d.clients.Go(func() {
		defer close(ended)
		d.server.Handler.ServeHTTP(client, r)
	})
	d.clients.Go(func() {
		<-d.free
		cancel()
	})
	select {
	case <-client.waits:
	case <-ended:
		if pieces == 0 {
			d.t.Fatalf("%s: %s was answered by %d without a body", route, path, client.status)
		}
	case <-time.After(patience):
		d.t.Fatalf("%s: %s waits for something else than its client", route, path)
	}
	return client.status
}

// apart are the routes that are not tried: the profiler of Go samples for as long as
// it is asked to, and knows nothing of a node.
var apart = []string{"GET /debug/pprof/profile", "GET /debug/pprof/trace"}

// reading returns all routes that read.
func (d *desk) reading() (routes []string) {
	all := d.server.Routes()
	for pattern := range console.New(d.admin.view, nil).Routes() {
		all = append(all, pattern)
	}
	for _, route := range all {
		if strings.HasPrefix(route, http.MethodGet) && !slices.Contains(apart, route) {
			routes = append(routes, route)
		}
	}
	slices.Sort(routes)
	return routes
}

// missing are the routes to what this node does not have.
var missing = map[string]bool{"GET /": true, "GET /api/v1/fleet": true, "GET /api/v1/fleet/held": true, "GET /fleet": true, "GET /api/v1/kernel": true, "GET /api/v1/attacks/{id}": true, "GET /api/v1/rules/{name}/key": true, "GET /attacks/{id}": true}

// asked are requests for routes of which the pattern alone is none.
var asked = map[string][]string{
	"GET /find":                        {"/find?q=203.0.113.9"},
	"GET /api/v1/blocks":               {"/api/v1/blocks", "/api/v1/blocks?order=count", "/api/v1/blocks?order=ends", "/api/v1/blocks?contains=203.0.113.9"},
	"GET /api/v1/events":               {"/api/v1/events", "/api/v1/events?kind=block"},
	"GET /api/v1/watch":                {"/api/v1/watch?prefix=203.0.113.9", "/api/v1/watch?prefix=203.0.113.9&kind=block", "/api/v1/watch?prefix=203.0.113.9&once=true"},
	"GET /api/v1/rules/{name}/outcome": {"/api/v1/rules/small/outcome?threshold=5"},
	"GET /rules/{name}":                {"/rules/small", "/rules/small?threshold=5"},
	"GET /rules/{name}/threshold":      {"/rules/small/threshold?threshold=5"},
	"GET /blocked":                     {"/blocked", "/blocked?order=count"},
	"GET /network/{prefix...}":         {"/network/203.0.113.0/24"},
	"GET /block":                       {"/block?prefix=198.51.100.0/24"},
	"GET /unblock":                     {"/unblock?prefix=203.0.113.9"},
	"GET /extend":                      {"/extend?prefix=203.0.113.9"},
	"GET /allow":                       {"/allow?prefix=203.0.113.9"},
	"GET /disallow":                    {"/disallow?prefix=192.0.2.0/24"},
}

var parameters = strings.NewReplacer("{address}", "203.0.113.9", "{prefix...}", "203.0.113.9", "{name}", "small", "{page...}", "tasks", "{$}", "")

// paths returns what is asked for of a route.
func (d *desk) paths(route string) []string {
	if all, ok := asked[route]; ok {
		return all
	}
	_, pattern, _ := strings.Cut(route, " ")
	switch pattern {
	case "/":
		pattern = "/nothing/there"
	case "/console/assets/{version}/{name}":
		_, page := d.get("/about")
		pattern = regexp.MustCompile(`/console/assets/[^"]+`).FindString(page)
	}
	return []string{parameters.Replace(pattern)}
}

// ask calls f for all that is asked for of a route.
func (d *desk) ask(route string, f func(path, accept string)) {
	for _, path := range d.paths(route) {
		f(path, "")
		if route == "GET /api/v1/blocks" {
			f(path, "text/csv")
			f(path, "application/x-ndjson")
		}
	}
}

// works has the node do all that it is there for, with the ith address. It reports
// what it does to doing.
func (d *desk) works(i int, doing func(string)) error {
	addr := netip.AddrFrom4([4]byte{198, 18, byte(i >> 8), byte(i)})
	prefix := netip.PrefixFrom(addr, 32)
	doing("decide")
	for range 12 {
		d.request(addr.String())
	}
	if !d.blocked(addr.String()) {
		return fmt.Errorf("%v is not blocked", addr)
	}
	doing("unblock")
	if _, ok := d.view().Unblock(prefix, "a mistake"); !ok {
		return fmt.Errorf("%v was not unblocked", addr)
	}
	doing("block by hand")
	now := d.view().Now()
	if _, err := d.view().Block(edgeguard.Block{Prefix: prefix, Rule: edgeguard.ManualRule, Since: now, Until: now.Add(time.Hour)}, true); err != nil {
		return err
	}
	doing("sweep")
	d.sweep(d.clock.Now())
	doing("count the rates")
	d.admin.noteRates(now, d.pipeline)
	doing("publish a state")
	d.admin.state("tried", addr.String())
	doing("save the state")
	if d.store.save() == 0 {
		return errors.New("the state was not saved")
	}
	return nil
}

// worksOn fails the test, naming the route, if the node does not do its work.
func (d *desk) worksOn(route string, i int) {
	d.t.Helper()
	var mu sync.Mutex
	step, done := "", make(chan error, 1)
	go func() {
		done <- d.works(i, func(s string) {
			mu.Lock()
			defer mu.Unlock()
			step = s
		})
	}()
	select {
	case err := <-done:
		if err != nil {
			d.t.Fatalf("%s: while its client does not read: %v", route, err)
		}
	case <-time.After(patience):
		mu.Lock()
		defer mu.Unlock()
		d.t.Fatalf("%s: while its client does not read, the node cannot %s", route, step)
	}
}

// aSecond waits until the node has done what it does once a second: then it forgets
// an allowance that has ended.
func (u *underTest) aSecond() {
	u.t.Helper()
	now, before := u.clock.Now(), u.list.Stats().Allowances
	ends := edgeguard.Block{Prefix: netip.MustParsePrefix("192.0.2.99/32"), Allow: true, Rule: edgeguard.ManualRule, Since: now, Until: now.Add(time.Millisecond)}
	if _, _, err := u.list.Add(ends, false, now); err != nil {
		u.t.Fatal(err)
	}
	u.eventually("an allowance that has ended is forgotten", func() bool { return u.list.Stats().Allowances == before })
}

// No handler holds a lock that the node's work takes while it waits for its client:
// clients of all routes that read stop reading, before the answer and within it, and
// the node does what it is there for.
func TestStalledClients(t *testing.T) {
	u := newNode(t, shortDir(t), small+"samples_for: operator\n").start()
	d := openDesk(u)
	u.asks("203.0.113.9", "/", "test", 20)
	u.allow("192.0.2.0/24", time.Hour)
	u.eventually("the block is shown", func() bool { return len(u.admin.view.Newest(10)) == 1 })
	routes := d.reading()
	for i, route := range routes {
		d.ask(route, func(path, accept string) {
			for pieces := range 2 {
				if status := d.stall(route, path, accept, pieces); (status >= 400) != missing[route] {
					t.Errorf("%s: %s: %d", route, path, status)
				}
			}
		})
		d.worksOn(route, i)
	}
	u.eventually("the enforcer has the blocks", func() bool { return strings.Count(read(t, u.folder, "deny.conf"), "198.18.0.") == len(routes) })
	u.aSecond()
}
