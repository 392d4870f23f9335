package node

import (
	"context"
	"errors"
	"io"
	"iter"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/admin/watch"
	"edgeguard/blocklist"
)

// counted is a node as its view reads it, with how often it looks at many keys or
// blocks. Its clock is always a moment before a slot begins, so that what happens
// at each slot happens again and again.
type counted struct {
	admin.Reader
	slots, looks, figures atomic.Int64 // figures are the looks of streams
}

func (c *counted) Now() time.Time {
	begins := time.Duration(1+c.slots.Load()) * watch.Every
	return c.Reader.Now().Truncate(watch.Every).Add(begins - time.Millisecond)
}

func (c *counted) Blocks(now time.Time, from netip.Prefix) iter.Seq[edgeguard.Block] {
	c.looks.Add(1)
	return c.Reader.Blocks(now, from)
}

func (c *counted) Newest(now time.Time, only blocklist.Only, after blocklist.Place) iter.Seq[edgeguard.Block] {
	c.looks.Add(1)
	return c.Reader.Newest(now, only, after)
}

func (c *counted) Figures(now time.Time, k watch.Key) watch.Figures {
	c.looks.Add(1)
	c.figures.Add(1)
	return c.Reader.Figures(now, k)
}

func (c *counted) Counts(now time.Time, rule string, n int) (admin.Counts, bool) {
	c.looks.Add(1)
	return c.Reader.Counts(now, rule, n)
}

func (c *counted) Top(now time.Time, n int) []admin.KeyCount {
	c.looks.Add(1)
	return c.Reader.Top(now, n)
}

func (c *counted) Inside(now time.Time, prefix netip.Prefix) admin.Inside {
	c.looks.Add(1)
	return c.Reader.Inside(now, prefix)
}

func (c *counted) Stats() admin.Stats {
	c.looks.Add(1)
	return c.Reader.Stats()
}

// dials returns a client of one of a sockets.
func (u *underTest) dials(socket string) *http.Client {
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(u.folder, socket))
		}},
	}
}

// open opens an answer and reads its beginning.
func (d *desk) open(client *http.Client, path, accept string) io.Closer {
	d.t.Helper()
	r, err := http.NewRequestWithContext(d.t.Context(), http.MethodGet, "http://localhost"+path, nil)
	if err != nil {
		d.t.Fatal(err)
	}
	r.Header.Set("Accept", accept)
	answer, err := client.Do(r)
	if err != nil {
		d.t.Fatal(err)
	}
	if _, err := answer.Body.Read(make([]byte, 1)); err != nil && !errors.Is(err, io.EOF) {
		d.t.Errorf("%s: %v", path, err)
	}
	return answer.Body
}

// After all pages, exports and streams were opened and left, read or not, the node has
// the goroutines that it had before, and looks at nothing for anybody.
func TestUnwatchedNodeLooksAtNothing(t *testing.T) {
	u := newNode(t, shortDir(t), small)
	c := &counted{Reader: u.admin.status}
	u.admin.view = admin.NewView(c, u.admin.events)
	d := openDesk(u.start())
	u.asks("203.0.113.9", "/", "test", 20)
	u.eventually("the enforcer has the block", func() bool { return read(t, u.folder, "deny.conf") == "203.0.113.9\n" })
	client, auth := u.dials("admin.sock"), u.dials("auth.sock")
	_ = d.open(client, "/healthz", "").Close() // the services begin beside the node, and both have begun now
	_ = d.open(auth, "/auth/nginx", "").Close()
	before := goleak.IgnoreCurrent()

	var opened []io.Closer
	for _, route := range d.reading() {
		d.ask(route, func(path, accept string) {
			d.stall(route, path, accept, 0)
			if route != "GET /metrics" { // who scrapes may have to wait for the others
				opened = append(opened, d.open(client, path, accept))
			}
		})
	}
	// A slot lasts a millisecond here: a stream that nobody reads may be dropped already.
	u.eventually("it has looked for the streams", func() bool { return c.figures.Load() > 2*int64(len(opened)) })
	for _, one := range opened {
		_ = one.Close()
	}
	client.CloseIdleConnections()
	auth.CloseIdleConnections()
	d.release()
	u.eventually("all goroutines have ended", func() bool { return goleak.Find(before) == nil })

	looks := c.looks.Load()
	for range 5 {
		c.slots.Add(1)
		u.request("203.0.113.10")
		u.admin.state("tried", "an event")
	}
	u.aSecond()
	if n := c.looks.Load() - looks; n != 0 {
		t.Errorf("the node has looked %d times for nobody", n)
	}
}
