package httpauth

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"edgeguard"
	"edgeguard/sensor/inline"
	"edgeguard/sensor/refusal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// desk is a decider that writes down what it is asked and refuses after limit
// events of an address.
type desk struct {
	mu     sync.Mutex // guards what follows
	limit  int
	events []edgeguard.Event
	alarms []string
}

var tokyo = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func (d *desk) decide(_ time.Time, e *edgeguard.Event) edgeguard.Verdict {
	d.mu.Lock()
	defer d.mu.Unlock()
	kept := *e
	for _, s := range []*string{&kept.Host, &kept.Method, &kept.Path, &kept.Agent} {
		*s = string([]byte(*s)) // the event's strings end with the call
	}
	kept.Header = nil
	d.events = append(d.events, kept)
	n := 0
	for _, other := range d.events {
		if other.Addr == e.Addr {
			n++
		}
	}
	if d.limit == 0 || n <= d.limit {
		return edgeguard.Verdict{}
	}
	return edgeguard.Verdict{Action: edgeguard.ActionDeny, Rule: "site", Reason: "over limit", Count: uint32(n), Limit: uint32(d.limit),
		RetryAfter: 41*time.Second + time.Millisecond}
}

func (d *desk) alarm(kind, _ string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.alarms = append(d.alarms, kind)
}

func (d *desk) last(tb testing.TB) edgeguard.Event {
	tb.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.events) == 0 {
		tb.Fatal("nothing was asked")
	}
	return d.events[len(d.events)-1]
}

func (d *desk) asked() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.events)
}

func (d *desk) heard() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]string(nil), d.alarms...)
}

func (d *desk) config() inline.Config {
	return inline.Config{Decide: d.decide, Now: func() time.Time { return tokyo }, Alarm: d.alarm,
		Policy: func(rule string) (refusal.Policy, bool) {
			return refusal.Policy{Quota: 100, Window: 5 * time.Minute}, rule == "site"
		}}
}

// patience bounds every wait for something that must happen. Nothing is measured
// by it.
const patience = 60 * time.Second

// start serves on a listener until the test ends.
func start(tb testing.TB, c inline.Config, l net.Listener) *Server {
	tb.Helper()
	return startWith(tb, c, 16<<10, l)
}

// startWith is start with a limit of the header.
func startWith(tb testing.TB, c inline.Config, limit int, l net.Listener) *Server {
	tb.Helper()
	s, err := newServer(c, limit)
	if err != nil {
		tb.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			tb.Error(err)
		}
		if err := <-served; err != nil {
			tb.Error(err)
		}
	})
	return s
}

func listenTCP(tb testing.TB) net.Listener {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

func listenUnix(tb testing.TB) net.Listener {
	tb.Helper()
	l, err := net.Listen("unix", filepath.Join(tb.TempDir(), "s"))
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

// client asks on one listener, whatever the URL says.
func client(tb testing.TB, l net.Listener) *http.Client {
	tb.Helper()
	tr := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, l.Addr().Network(), l.Addr().String())
	}}
	tb.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: patience}
}

// ask sends a GET with header lines "Name: value" and reads the whole answer.
func ask(tb testing.TB, c *http.Client, method, path string, lines ...[2]string) (*http.Response, string) {
	tb.Helper()
	r, err := http.NewRequest(method, "http://site.example"+path, nil)
	if err != nil {
		tb.Fatal(err)
	}
	for _, l := range lines {
		r.Header.Add(l[0], l[1])
	}
	resp, err := c.Do(r)
	if err != nil {
		tb.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		tb.Fatal(err)
	}
	return resp, string(body)
}

func addr(s string) netip.Addr { return netip.MustParseAddr(s) }
