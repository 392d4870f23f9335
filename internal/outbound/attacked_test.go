package outbound_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"edgeguard/admin/client"
	"edgeguard/crowdsec"
	"edgeguard/enforce/cloud"
	"edgeguard/feed"
	"edgeguard/notify"
)

// All clients are attacked here, by the same servers: real ones, on loopback.

// file makes a file of a test.
func file(t *testing.T, text string) string {
	t.Helper()
	f := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(f, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestFeedAttacked(t *testing.T) {
	attack(t, true, "", func(ctx context.Context, t *testing.T, s server) error {
		f, err := feed.NewFetcher(feed.FetchSettings{URL: s.URL + "/list?key=" + secret, CAFile: s.CA, HeaderFile: file(t, "Authorization: Bearer "+secret+"\n")})
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.FetchList(ctx, feed.Marks{})
		return err
	})
}

// enoughRead is what attacks a client that reads no more of an answer than it needs.
const enoughRead = "10 GB, chunks without end, a body until the end, half a body, a body that hangs"

func TestCrowdSecAttacked(t *testing.T) {
	for name, call := range map[string]func(context.Context, *crowdsec.Client) error{
		"pull": func(ctx context.Context, c *crowdsec.Client) error {
			return c.PullDecisions(ctx, secret, true, nil, nil)
		},
		"check": func(ctx context.Context, c *crowdsec.Client) error { return c.Check(ctx, secret) },
		"login": func(ctx context.Context, c *crowdsec.Client) error {
			return c.Heartbeat(ctx, &crowdsec.Machine{ID: "m", Password: secret})
		},
	} {
		accepts := ""
		if name == "check" { // asks for the head alone
			accepts = enoughRead
		}
		t.Run(name, func(t *testing.T) {
			attack(t, true, accepts, func(ctx context.Context, t *testing.T, s server) error {
				c, err := crowdsec.NewClient(crowdsec.ClientConfig{URL: s.URL, CAFile: s.CA})
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				return call(ctx, c)
			})
		})
	}
}

func TestCloudAttacked(t *testing.T) {
	attack(t, true, "", func(ctx context.Context, t *testing.T, s server) error {
		if s.CA != "" {
			t.Skip("a cloud's certificate is known to the system")
		}
		c := cloud.NewCloudflare(cloud.CloudflareConfig{Account: "a", ID: "b", TokenFile: file(t, secret), Endpoint: s.URL})
		defer func() { _ = c.Close() }()
		_, err := c.Look(ctx)
		return err
	})
}

func TestReceiverAttacked(t *testing.T) {
	attack(t, true, enoughRead, func(ctx context.Context, t *testing.T, s server) error {
		r, err := notify.OpenSender(notify.SenderSettings{
			URL: s.URL + "/services/" + secret, CAFile: s.CA, Headers: []notify.Header{{Name: "Authorization", Value: "Bearer " + secret}}, Timeout: time.Minute,
		})
		if err != nil {
			t.Fatal(err)
		}
		a := r.PostBody(ctx, time.Unix(1_767_323_045, 0), "msg_1", []byte("{}"))
		if a.After < 0 || a.After > 5*time.Minute {
			t.Errorf("it is waited for %v", a.After)
		}
		return a.Error
	})
}

func TestAdminAttacked(t *testing.T) {
	for name, call := range map[string]func(context.Context, *client.Client) error{
		"answer": func(ctx context.Context, c *client.Client) (err error) { _, err = c.Status(ctx); return err },
		"stream": func(ctx context.Context, c *client.Client) (err error) {
			after := ""
			for _, err = range c.Events(ctx, "", &after) {
				_ = after
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			attack(t, false, "", func(ctx context.Context, t *testing.T, s server) error {
				c, err := client.New(client.Config{Address: strings.TrimPrefix(s.URL, "http://"), TokenFile: file(t, secret)})
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				return call(ctx, c)
			})
		})
	}
}

// secret is what a client is to send as its key, token or password.
const secret = "T0SECRET-0123456789"

// enough is more than any client reads of an answer, and tooMuch is never sent: a client that
// takes all that it is sent would never end.
const enough, tooMuch = 512 << 20, 10 << 30

// server is one that a client is to ask.
type server struct {
	URL string // without a path
	CA  string // a file of the certificate that it has; empty for http
}

// attack has a client ask each server. Call makes one call with secret, which ends with ctx. The
// client must fail, but for accepts, and in one short line without the secret; it must not read
// all that it is sent, and must ask no other server. Of https only with TLS.
func attack(t *testing.T, tls bool, accepts string, call func(ctx context.Context, t *testing.T, s server) error) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("another server is asked: %s %s %v", r.Method, r.URL, r.Header)
	}))
	defer elsewhere.Close()
	for name, answer := range attacks(strings.TrimPrefix(elsewhere.URL, "http://")) {
		for _, scheme := range []string{"http", "https"} {
			if scheme == "https" && !tls {
				continue
			}
			t.Run(name+" by "+scheme, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				check(t, call(ctx, t, listen(t, scheme, answer, cancel)), strings.Contains(accepts, name))
			})
		}
	}
	if tls {
		for name, answer := range handshakes {
			t.Run(name, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				s := listen(t, "http", answer, cancel)
				s.URL = strings.Replace(s.URL, "http:", "https:", 1)
				check(t, call(ctx, t, s), false)
			})
		}
	}
}

func check(t *testing.T, err error, accepts bool) {
	t.Helper()
	switch {
	case err == nil && !accepts:
		t.Error("it is accepted")
	case err == nil:
	case strings.Contains(err.Error(), "0123456789"), strings.ContainsAny(err.Error(), "\x1b\n"), len(err.Error()) > 400:
		t.Errorf("%d bytes: %q", len(err.Error()), err)
	default:
		t.Log(err)
	}
}

// conn is a connection after its request was read.
type conn struct {
	net.Conn
	asked []byte // the request
	hangs func() // is called before a wait without an end
	sent  atomic.Int64
}

func (w *conn) Write(b []byte) (int, error) {
	n, err := w.Conn.Write(b)
	w.sent.Add(int64(n))
	return n, err
}

func (w *conn) say(format string, values ...any) { _, _ = fmt.Fprintf(w, format, values...) }

// spam sends a text until the client has gone.
func (w *conn) spam(text string) {
	b := bytes.Repeat([]byte(text), 1+(64<<10)/len(text))
	for w.sent.Load() < enough {
		if _, err := w.Write(b); err != nil {
			return
		}
	}
}

// hang waits until the client has gone.
func (w *conn) hang() {
	w.hangs()
	_, _ = io.Copy(io.Discard, w.Conn)
}

const ok = "HTTP/1.1 200 OK\r\n"

// attacks are what servers do by the names of them.
func attacks(elsewhere string) map[string]func(*conn) {
	redirect := func(to string) func(*conn) {
		return func(w *conn) { w.say("HTTP/1.1 307 x\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n", to) }
	}
	return map[string]func(*conn){
		"no head":              func(w *conn) { w.hang() },
		"half a head":          func(w *conn) { w.say(ok + "X: y\r\n"); w.hang() },
		"a head without end":   func(w *conn) { w.say(ok); w.spam("X: y\r\n") },
		"a line without end":   func(w *conn) { w.say(ok + "X: "); w.spam("y") },
		"a status without end": func(w *conn) { w.spam("HTTP/1.1 ") },
		"news without end":     func(w *conn) { w.spam("HTTP/1.1 103 Early Hints\r\nX: y\r\n\r\n") },
		"10 GB":                func(w *conn) { w.say(ok+"Content-Length: %d\r\n\r\n", tooMuch); w.spam("x") },
		"chunks without end":   func(w *conn) { w.say(ok + "Transfer-Encoding: chunked\r\n\r\n"); w.spam("8\r\nxxxxxxxx\r\n") },
		"a body until the end": func(w *conn) { w.say(ok + "\r\n"); w.spam("x") },
		"an error of 10 GB":    func(w *conn) { w.say("HTTP/1.1 500 x\r\nContent-Length: %d\r\n\r\n", tooMuch); w.spam("x") },
		"a refusal of 10 GB": func(w *conn) {
			w.say("HTTP/1.1 403 x\r\nContent-Length: %d\r\n\r\n{\"message\":\"", tooMuch)
			w.spam("x")
		},
		"a problem of 10 GB": func(w *conn) {
			w.say("HTTP/1.1 409 x\r\nContent-Type: application/problem+json\r\nContent-Length: %d\r\n\r\n", tooMuch)
			w.spam(" ")
		},
		"half a body":             func(w *conn) { w.say(ok + "Content-Length: 1000\r\n\r\n{\"new\":[") },
		"a body that hangs":       func(w *conn) { w.say(ok + "Content-Length: 1000\r\n\r\n{\"new\":["); w.hang() },
		"another host":            redirect("http://" + elsewhere + "/"),
		"another host, relative":  redirect("//" + elsewhere + "/"),
		"another host, as a user": redirect("http://127.0.0.1@" + elsewhere + "/"),
		"a file":                  redirect("file:///etc/passwd"),
		"a redirect to nonsense":  redirect("http://[::1\x01/"),
		"repeats, not HTTP":       func(w *conn) { w.say("%s\r\n", w.line()) },
		"repeats, as its status":  func(w *conn) { w.say("HTTP/1.1 %s\r\n\r\n", secret) },
		"repeats, as an error":    func(w *conn) { w.repeat("500 x") },
		"repeats, as a refusal":   func(w *conn) { w.repeat("401 \x1b[31mx") },
		"busy for years": func(w *conn) {
			w.say("HTTP/1.1 429 x\r\nRetry-After: 99999999999999999999\r\nContent-Length: 0\r\n\r\n")
		},
		"busy until the year 9999": func(w *conn) {
			w.say("HTTP/1.1 503 x\r\nRetry-After: Fri, 31 Dec 9999 23:59:59 GMT\r\nContent-Length: 0\r\n\r\n")
		},
		"busy since long ago": func(w *conn) { w.say("HTTP/1.1 503 x\r\nRetry-After: -2147483648\r\nContent-Length: 0\r\n\r\n") },
	}
}

// line returns what was asked in one line.
func (w *conn) line() string { return strings.ReplaceAll(string(w.asked), "\r\n", " ") }

func (w *conn) repeat(status string) {
	w.say("HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s", status, len(w.asked), w.asked)
}

// handshakes are what servers do before there is TLS.
var handshakes = map[string]func(*conn){
	"TLS ends before it begins": func(*conn) {},
	"TLS ends midway":           func(w *conn) { w.say("\x16\x03\x03\x00\x7a\x02\x00\x00\x76\x03\x03") },
	"TLS hangs midway":          func(w *conn) { w.say("\x16\x03\x03\x00\x7a\x02\x00"); w.hang() },
	"TLS without end":           func(w *conn) { w.spam("\x16\x03\x03\x40\x00") },
	"no TLS":                    func(w *conn) { w.say("HTTP/1.1 400 no\r\n\r\n") },
}

// listen serves connections as answer does, until the test ends.
func listen(t *testing.T, scheme string, answer func(*conn), hangs func()) server {
	t.Helper()
	var open sync.WaitGroup
	serve := func(c net.Conn, asked []byte) {
		w := &conn{Conn: c, asked: asked, hangs: hangs}
		answer(w)
		if w.sent.Load() >= enough {
			t.Errorf("the client has read %d bytes and goes on", w.sent.Load())
		}
	}
	if scheme == "https" {
		secure := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked := new(bytes.Buffer)
			_ = r.Write(asked)
			c, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			open.Go(func() { defer func() { _ = c.Close() }(); serve(c, asked.Bytes()) })
		}))
		secure.Config.ErrorLog = log.New(io.Discard, "", 0)
		secure.StartTLS()
		t.Cleanup(func() { secure.Close(); open.Wait() })
		return server{secure.URL, file(t, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})))}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	open.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			open.Go(func() {
				defer func() { _ = c.Close() }()
				in, asked := bufio.NewReader(c), new(bytes.Buffer)
				if first, _ := in.Peek(1); len(first) > 0 && first[0] != 0x16 {
					if r, err := http.ReadRequest(in); err == nil {
						_ = r.Write(asked)
					}
				}
				serve(c, asked.Bytes())
			})
		}
	})
	t.Cleanup(func() { _ = l.Close(); open.Wait() })
	return server{URL: "http://" + l.Addr().String()}
}
