package envoy

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"edgeguard"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func frame(message []byte) []byte {
	out := append(BeginFrame(nil), message...)
	EndFrame(out, 0)
	return out
}

// checkRequest is a request as Envoy asks about it.
func checkRequest(source, method, host, path string, headers ...string) []byte {
	return AppendMessage(nil, 1, func(out []byte) []byte {
		if source != "" {
			out = AppendMessage(out, 1, func(out []byte) []byte {
				return AppendMessage(out, 1, func(out []byte) []byte {
					return AppendMessage(out, 1, func(out []byte) []byte { return AppendText(out, 2, source) })
				})
			})
		}
		return AppendMessage(out, 4, func(out []byte) []byte {
			return AppendMessage(out, 2, func(out []byte) []byte {
				out = AppendText(out, 2, method)
				for i := 0; i < len(headers); i += 2 {
					out = AppendMessage(out, 3, func(out []byte) []byte {
						return AppendText(AppendText(out, 1, headers[i]), 2, headers[i+1])
					})
				}
				return AppendText(AppendText(out, 4, path), 5, host)
			})
		})
	})
}

type client struct {
	*http.Client
	t      *testing.T
	scheme string // https for TLS
}

func (c client) call(method string, body []byte) (status string, message []byte) {
	c.t.Helper()
	r, err := http.NewRequest("POST", c.scheme+"://envoy"+method, bytes.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/grpc")
	r.Header.Set("TE", "trailers")
	a, err := c.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer a.Body.Close()
	all, err := io.ReadAll(a.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	status = a.Trailer.Get("Grpc-Status")
	if status == "" {
		status = a.Header.Get("Grpc-Status")
	}
	return status, all
}

func start(t *testing.T, c Config) (*Server, client) {
	t.Helper()
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", t.TempDir()+"/s")
	if err != nil {
		t.Fatal(err)
	}
	return s, client{&http.Client{Transport: serve(t, s, l, nil)}, t, "http"}
}

// serve serves on a listener until the test ends, and returns a client's side.
func serve(t *testing.T, s *Server, l net.Listener, secret *tls.Config) *http.Transport {
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	var p http.Protocols
	p.SetUnencryptedHTTP2(secret == nil)
	p.SetHTTP2(secret != nil)
	transport := &http.Transport{Protocols: &p, TLSClientConfig: secret, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, l.Addr().Network(), l.Addr().String())
	}}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return transport
}

func passAll(time.Time, *edgeguard.Event) edgeguard.Verdict { return edgeguard.Verdict{} }

// desk decides: it denies paths that begin with /deny, and keeps the events.
type desk struct {
	mu     sync.Mutex // guards what is below
	events []edgeguard.Event
	looked int
}

func (d *desk) decide(_ time.Time, e *edgeguard.Event) edgeguard.Verdict {
	e.KeepTexts(strings.Clone)
	if e.Header != nil { // it is valid during the call only
		value, ok := e.Header("x-api-key")
		value = strings.Clone(value)
		e.Header = func(string) (string, bool) { return value, ok }
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.events = append(d.events, *e)
	switch {
	case e.Path == "/panic":
		panic("broken")
	case strings.HasPrefix(e.Path, "/deny"):
		return edgeguard.Verdict{Action: edgeguard.ActionDeny, Rule: "site", Reason: "over limit", RetryAfter: 42 * time.Second}
	case e.Path == "/shadow":
		return edgeguard.Verdict{Action: edgeguard.ActionShadow, Rule: "site"}
	}
	return edgeguard.Verdict{}
}

func (d *desk) look(time.Time, *edgeguard.Event) edgeguard.Verdict {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.looked++
	return edgeguard.Verdict{}
}

// last returns the last event, without its time.
func (d *desk) last(t *testing.T) edgeguard.Event {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.events) == 0 {
		t.Fatal("no event")
	}
	e := d.events[len(d.events)-1]
	e.Time = time.Time{}
	return e
}
