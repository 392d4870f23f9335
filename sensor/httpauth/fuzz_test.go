package httpauth

import (
	"bufio"
	"bytes"
	"net"
	"net/http"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/sensor/inline"
)

// FuzzServer writes anything to a connection: the server neither panics nor
// hangs, every answer can be read, and nobody is counted but whom the listener
// was told to believe.
func FuzzServer(f *testing.F) {
	for _, s := range []string{
		"GET /auth/nginx HTTP/1.1\r\nHost: h\r\nX-Real-IP: 203.0.113.9\r\nX-Request-Id: a\r\n\r\n",
		"GET /auth/forward?a HTTP/1.0\r\nX-Forwarded-For: 203.0.113.9, 127.0.0.1\r\nX-Forwarded-For: ::1\r\n\r\n",
		"POST /auth/envoy/%zz HTTP/1.1\r\nHost: [::1\r\nX-Forwarded-For: 203.0.113.9\r\nContent-Length: 3\r\n\r\nabcGET / HTTP/1.1\r\n\r\n",
		"POST /auth/envoy* HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
		"HEAD http://x/auth/nginx HTTP/1.1\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n", "\x00\r\n\r\n", "",
	} {
		f.Add([]byte(s))
	}
	s, err := New(inline.Config{Alarm: func(kind, text string) {
		if kind == "auth_panic" {
			panic(text)
		}
	}, Decide: func(_ time.Time, e *edgeguard.Event) edgeguard.Verdict {
		if !e.Addr.IsValid() || e.Addr.Is4In6() || e.Addr.Zone() != "" {
			panic("an address that is none: " + e.Addr.String())
		}
		if e.Path == "" {
			return edgeguard.Verdict{Action: edgeguard.ActionDeny, Rule: "site"}
		}
		return edgeguard.Verdict{}
	}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		c := &tape{in: bytes.NewReader(sent)}
		s.converse(&conn{Conn: alone(c)})
		if s.Stats().Panics != 0 {
			t.Fatal("it panicked")
		}
		for r := bufio.NewReader(&c.out); r.Buffered() > 0 || c.out.Len() > 0; {
			resp, err := http.ReadResponse(r, nil)
			if err != nil {
				return // the answer to a HEAD has no body, which this reader cannot know
			}
			if code := resp.StatusCode; code != 100 && code != 200 && code != 403 && code != 404 && code != 408 && code != 429 {
				t.Fatalf("status %d", code)
			}
			resp.Body.Close()
		}
	})
}

// tape is a connection that was recorded before.
type tape struct {
	net.Conn
	in  *bytes.Reader
	out bytes.Buffer
}

func (t *tape) Read(p []byte) (int, error)       { return t.in.Read(p) }
func (t *tape) Write(p []byte) (int, error)      { return t.out.Write(p) }
func (*tape) Close() error                       { return nil }
func (*tape) RemoteAddr() net.Addr               { return &net.UnixAddr{Net: "unix"} }
func (*tape) LocalAddr() net.Addr                { return &net.UnixAddr{Net: "unix"} }
func (*tape) SetDeadline(time.Time) error        { return nil }
func (*tape) SetReadDeadline(time.Time) error    { return nil }
func (*tape) SetWriteDeadline(t time.Time) error { return nil }
