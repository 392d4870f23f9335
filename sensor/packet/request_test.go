package packet

import (
	"bufio"
	"bytes"
	"net/http"
	"strings"
	"testing"

	"edgeguard"
)

const (
	lineFields = edgeguard.FieldMethod | edgeguard.FieldPath
	headFields = lineFields | edgeguard.FieldHost | edgeguard.FieldAgent
)

func TestParseRequest(t *testing.T) {
	cases := []struct {
		name, segment             string
		ok                        bool
		method, path, host, agent string
		known                     edgeguard.Field
	}{
		{"whole", get, true, "GET", "/login?a=b", "example.org", "curl/8", headFields},
		{"no headers", "GET / HTTP/1.0\r\n\r\n", true, "GET", "/", "", "", headFields},
		{"line feeds alone", "GET / HTTP/1.1\nHost: a\n\n", true, "GET", "/", "a", "", headFields},
		{"names in any case, values trimmed", "GET / HTTP/1.1\r\nHOST:a\r\nuser-agent: \t b c \r\n\r\n", true, "GET", "/", "a", "b c", headFields},
		{"the first host counts", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", true, "GET", "/", "a", "", headFields},
		{"other names that begin alike", "GET / HTTP/1.1\r\nHost2: a\r\nHos: b\r\n\r\n", true, "GET", "/", "", "", headFields},
		{"the head goes on in the next segment", "GET / HTTP/1.1\r\nHost: a\r\nUser-Ag", true, "GET", "/", "a", "", lineFields | edgeguard.FieldHost},
		{"a header that is cut off is not known", "GET / HTTP/1.1\r\nHost: exam", true, "GET", "/", "", "", lineFields},
		{"the body is no header", "POST / HTTP/1.1\r\n\r\nHost: a\r\n", true, "POST", "/", "", "", headFields},
		{"other method", "VERSION-CONTROL /a HTTP/1.1\r\n", true, "VERSION-CONTROL", "/a", "", "", lineFields},
		{"absolute target", "GET http://a/b HTTP/1.1\r\n", true, "GET", "http://a/b", "", "", lineFields},
		{"spaces in the target", "GET /a b HTTP/1.1\r\n", true, "GET", "/a b", "", "", lineFields},
		{"line cut off", "GET /a/very/long", true, "GET", "", "", "", edgeguard.FieldMethod},
		{"line cut off in the version", "GET /a HT", true, "GET", "/a", "", "", lineFields},
		{"line cut off after the version", "GET /a HTTP/1.1\r", true, "GET", "/a", "", "", lineFields},
		{"line cut off in another version", "GET /a HTTP/2", false, "", "", "", "", 0},
		{"line cut off before the version", "GET /a ", false, "", "", "", "", 0},
		{"line cut off, unusual method", "MOVE /a/very/long", false, "", "", "", "", 0},
		{"line cut off, no path", "GET abc", false, "", "", "", "", 0},
		{"line cut off, with spaces", "GET /to the point", false, "", "", "", "", 0},
		{"line cut off after the method", "GET ", false, "", "", "", "", 0},
		{"answer", "HTTP/1.1 200 OK\r\n\r\n", false, "", "", "", "", 0},
		{"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", false, "", "", "", "", 0},
		{"HTTP/0.9", "GET /\r\n", false, "", "", "", "", 0},
		{"no target", "GET HTTP/1.1\r\n", false, "", "", "", "", 0},
		{"empty target", "GET  HTTP/1.1\r\n", false, "", "", "", "", 0},
		{"lower case", "get / HTTP/1.1\r\n", false, "", "", "", "", 0},
		{"leading space", " GET / HTTP/1.1\r\n", false, "", "", "", "", 0},
		{"SMTP", "MAIL FROM:<a@b>\r\n", false, "", "", "", "", 0},
		{"TLS", "\x16\x03\x01\x02\x00\x01", false, "", "", "", "", 0},
		{"a long word", strings.Repeat("A", 100) + " / HTTP/1.1\r\n", false, "", "", "", "", 0},
		{"empty", "", false, "", "", "", "", 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r, ok := parseRequest([]byte(c.segment))
			if ok != c.ok {
				t.Fatal("a request:", ok)
			}
			if ok && (string(r.method) != c.method || string(r.path) != c.path || string(r.host) != c.host ||
				string(r.agent) != c.agent || r.known != c.known) {
				t.Errorf("got %q %q, host %q, agent %q, known: %v", r.method, r.path, r.host, r.agent, r.known)
			}
		})
	}
}

// FuzzRequest holds whole heads against net/http's reading, where that takes
// them for a request.
func FuzzRequest(f *testing.F) {
	for _, s := range []string{get, "POST //xmlrpc.php HTTP/1.0\r\nHost: a\r\n\r\n", "GET /a b HTTP/1.1\r\n", "HEAD", "PRI * HTTP/2.0\r\n\r\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, ok := parseRequest(b)
		if ok && !bytes.HasPrefix(b, r.method) {
			t.Fatalf("method %q", r.method)
		}
		want, err := http.ReadRequest(bufio.NewReaderSize(bytes.NewReader(b), 16))
		if err != nil || want.ProtoMajor != 1 || leadingMethod(b) == nil || want.Host == "" || strings.Contains(want.RequestURI, "://") {
			return
		}
		// net/http takes header lines that are continued; they are obsolete and not read here.
		if bytes.Contains(b, []byte("\n ")) || bytes.Contains(b, []byte("\n\t")) {
			return
		}
		if !ok || string(r.method) != want.Method || string(r.path) != want.RequestURI {
			t.Fatalf("got %v %q %q, net/http reads %q %q", ok, r.method, r.path, want.Method, want.RequestURI)
		}
		if string(r.host) != want.Host {
			t.Fatalf("got host %q, net/http reads %q", r.host, want.Host)
		}
		if agent := want.Header.Values("User-Agent"); len(agent) > 0 && string(r.agent) != agent[0] {
			t.Fatalf("got agent %q, net/http reads %q", r.agent, agent[0])
		}
	})
}
