package haproxy

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/internal/program"
	"edgeguard/rules"
)

// patience bounds every wait for something that must happen.
const patience = 60 * time.Second

// realHAProxy returns the program that the tests run: $EDGEGUARD_HAPROXY, or the one that is
// installed.
func realHAProxy(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath(cmp.Or(os.Getenv("EDGEGUARD_HAPROXY"), "haproxy"))
	if err != nil {
		path, err = exec.LookPath("/usr/sbin/haproxy")
	}
	if err != nil {
		t.Skip("haproxy is not installed: apt-get install haproxy")
	}
	return path
}

// conf writes a haproxy.cfg with the columns, which sends each answer with all counters
// of its client.
func conf(t testing.TB, c *Columns, bind, backend string) string {
	t.Helper()
	dir := t.TempDir()
	var counters []string
	for i := range c.List {
		counters = append(counters, fmt.Sprintf("%%[sc_get_gpc(%d,2)]", i))
	}
	text := fmt.Sprintf(`global
    localpeer test
defaults
    mode http
    timeout connect 60s
    timeout client 60s
    timeout server 60s
peers edgeguard
    bind unix@%s/peers.sock
    server test
    %s
frontend web
    bind %s
%s
    http-response set-header X-Counters "%s"
    default_backend site
backend site
    server site %s
`, dir, c.Declaration(), bind, c.Frontend(ConfigPlace{Peers: "edgeguard", Slot: 2}), strings.Join(counters, " "), backend)
	file := filepath.Join(dir, "haproxy.cfg")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// accepted fails unless haproxy says that the file is valid, without a warning.
func accepted(t testing.TB, file string) {
	t.Helper()
	out, err := exec.Command(realHAProxy(t), "-c", "-f", file).CombinedOutput()
	if err != nil || bytes.Contains(out, []byte("WARNING")) {
		text, _ := os.ReadFile(file)
		t.Fatalf("%v\n%s\n%s", err, out, text)
	}
}

// client is one connection to a running HAProxy that counts by c.
type client struct {
	conn   net.Conn
	reader *bufio.Reader
	before []uint64
}

// start runs HAProxy, before a server that answers with the status that X-Status asks
// for.
func start(t testing.TB, c *Columns) *client {
	t.Helper()
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	go func() {
		for {
			conn, err := server.Accept()
			if err != nil {
				return
			}
			go answer(conn)
		}
	}()
	bind := program.Address(t)
	file := conf(t, c, bind, server.Addr().String())
	accepted(t, file)
	var out bytes.Buffer
	run := exec.Command(realHAProxy(t), "-db", "-f", file)
	run.Stdout, run.Stderr = &out, &out
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = run.Process.Kill()
		_ = run.Wait()
		if t.Failed() {
			t.Logf("haproxy said:\n%s", &out)
		}
	})
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("tcp", bind)
		if err == nil {
			t.Cleanup(func() { _ = conn.Close() })
			return &client{conn: conn, reader: bufio.NewReader(conn), before: make([]uint64, len(c.List))}
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// answer answers every request of a connection, however odd its target is, with the
// status that X-Status asks for.
func answer(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		if name, status, ok := strings.Cut(lines.Text(), ": "); ok && strings.EqualFold(name, "X-Status") {
			if _, err := fmt.Fprintf(conn, "HTTP/1.1 %s -\r\nContent-Length: 0\r\n\r\n", status); err != nil {
				return
			}
		}
	}
}

// ask sends one request and returns by how much each counter has grown; nil if HAProxy
// refused the request itself.
func (c *client) ask(t testing.TB, method, target, host string, status int) []uint64 {
	t.Helper()
	_ = c.conn.SetDeadline(time.Now().Add(patience))
	if _, err := fmt.Fprintf(c.conn, "%s %s HTTP/1.1\r\nHost: %s\r\nX-Status: %d\r\n\r\n", method, target, host, status); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(c.reader, &http.Request{Method: method})
	if err != nil {
		t.Fatalf("%s %q: %v", method, target, err)
	}
	_, _ = io.Copy(io.Discard, res.Body)
	_ = res.Body.Close()
	texts := strings.Fields(res.Header.Get("X-Counters"))
	if len(texts) != len(c.before) {
		t.Fatalf("%s %q: answer %d without the counters: %q", method, target, res.StatusCode, texts)
	}
	grown := make([]uint64, len(texts))
	for i, text := range texts {
		now, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		grown[i], c.before[i] = now-c.before[i], now
	}
	return grown
}

// wants returns by how much each column has to grow for a request and its answer.
func wants(set *rules.Set, c *Columns, method, target, host string, status int) []uint64 {
	ev := edgeguard.Event{
		Addr: netip.MustParseAddr("127.0.0.1"), Kind: edgeguard.KindRequest | edgeguard.KindResponse, Method: method, Path: target, Host: host, Status: uint16(status),
		Known: edgeguard.FieldMethod | edgeguard.FieldPath | edgeguard.FieldHost | edgeguard.FieldStatus,
	}
	grown := make([]uint64, len(c.List))
	for i := range c.List {
		if _, ok := set.Meters[c.List[i].Meter].Match(&ev); ok {
			grown[i] = 1
		}
	}
	return grown
}

// paths are the patterns of the comparison: each way to compare, negated ones, and
// characters that mean something to haproxy.cfg or to a regular expression.
var compared = []rules.Spec{
	{},
	{Match: rules.Match{Path: []string{"/a"}}},
	{Match: rules.Match{Path: []string{"/a/*"}, Not: &rules.Match{Path: []string{"/a/b*", "*.c"}}}},
	{Match: rules.Match{Path: []string{"*b"}}},
	{Match: rules.Match{Path: []string{"*a/b*"}}},
	{Match: rules.Match{Path: []string{"/*a*b"}}},
	{Match: rules.Match{Path: []string{"/", "/b/", "/.a", "/..a", "/a+b", "/%25", "/a%3f", "/%zz", "/a%20b", "/é"}}},
	{Match: rules.Match{Not: &rules.Match{Path: []string{"/*"}}}},
	{Match: rules.Match{Path: []string{"*.a*+b*", "/*$", "/(*", "/[*]"}}},
	{Match: rules.Match{Path: []string{"*"}, Method: []string{"post"}, Status: []string{"2xx", "404"}}},
	{Match: rules.Match{Method: []string{"POST", "PUT"}, Not: &rules.Match{Status: []string{"404"}}}},
	{Match: rules.Match{Host: []string{"example.org", "*.example.org"}}},
	{Match: rules.Match{Path: []string{"/A", "/b/a", "*.c", "/", "/.a", "/a$*"}, Fold: true}},
	{Match: rules.Match{Path: []string{"/*a*b", "*b"}, Fold: true, Not: &rules.Match{Path: []string{"/a*", "*x"}}}},
	{Match: rules.Match{Fold: true, Not: &rules.Match{Path: []string{"/b*", "*a", "*$*"}}}},
	{Match: rules.Match{Path: []string{"*a"}, Fold: true, Status: []string{"404"}, Method: []string{"POST", "GET"}}},
	{Match: rules.Match{Host: []string{"*e*.o*"}, Not: &rules.Match{Host: []string{"www.example.org"}, Method: []string{"GET"}}}},
}

// TestSameAsRules compares what the real HAProxy counts with what the rules say, for
// random paths, hosts, methods and statuses.
func TestSameAsRules(t *testing.T) {
	set := compile(t, compared...)
	c := ColumnsOf(set)
	if len(c.Left) > 0 {
		t.Fatal(c.Left)
	}
	a := start(t, c)
	seed := rand.Uint64()
	dice := rand.New(rand.NewPCG(seed, 1))
	pick := func(all ...string) string { return all[dice.IntN(len(all))] }
	matched := make([]uint64, len(c.List))
	for range 20_000 {
		var path strings.Builder
		path.WriteString(pick("/", "/", "/", "/", "/", "http://x/", "http://x.y:80/", "http://x"))
		if path.String() != "http://x" { // with a query and without a slash, HAProxy answers 400
			for range dice.IntN(10) {
				path.WriteString(pick("/", "/", "/", "a", "b", ".", "..", "/../", "/./", "%2e", "%61", "%", "%%", "%a", "%zz", "%0a", "%00", "%0D",
					"%25", "%3f", "%20", "+", "%C3%A9", "$", "(", "[x]", ".c", "'", "%22", "%23", "a/b", "\\", "x", "%e", ";", ";a", "%3b", "%3B", "A", "B", "/..;", "."))
			}
		}
		if path.String() != "http://x" {
			path.WriteString(pick("", "", "", "?", "?a", "?/../b", "?x=%zz"))
		}
		host := pick("example.org", "WWW.example.org", "www.example.org:80", "a.Example.ORG.", "x", "[::1]:8080", "one.old:1")
		if strings.HasPrefix(path.String(), "http:") { // HAProxy refuses another host than the target's
			host = "x"
			if strings.Contains(path.String(), "x.y") {
				host = "x.y:80"
			}
		}
		method, status := pick("GET", "POST", "post", "PUT", "Options"), 200+2*dice.IntN(2)+200*dice.IntN(2)
		if dice.IntN(4) == 0 {
			status = 404
		}
		got := a.ask(t, method, path.String(), host, status)
		want := wants(set, c, method, path.String(), host, status)
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d: %s %q of %q answered %d: HAProxy counts %v, the rules %v; as rules read it: %q", seed, method, &path, host, status, got, want, rules.NormalPath(path.String()))
		}
		for i := range want {
			matched[i] += want[i]
		}
	}
	for i, n := range matched {
		if n == 0 && i != 7 {
			t.Errorf("no request matched column %d", i)
		}
	}
}

// TestDeep: a path with more nested ".." than HAProxy's configuration resolves counts for
// every rule that asks for the path, so that none is walked around by it.
func TestDeep(t *testing.T) {
	set := compile(t,
		rules.Spec{Match: rules.Match{Path: []string{"/wp-login.php"}}},
		rules.Spec{Match: rules.Match{Method: []string{"POST"}, Path: []string{"/*"}, Not: &rules.Match{Path: []string{"/a*"}}}},
		rules.Spec{Match: rules.Match{Not: &rules.Match{Path: []string{"*"}}}},
		rules.Spec{Match: rules.Match{Path: []string{"/Login"}, Fold: true, Status: []string{"404"}}},
		rules.Spec{Match: rules.Match{Method: []string{"GET"}}},
	)
	c := ColumnsOf(set)
	a := start(t, c)
	for depth := 1; depth < 300; depth += 1 + depth/10 {
		names, dots := strings.Repeat("/a", depth), strings.Repeat("/..", depth)
		for _, end := range []string{"/wp-login.php", "/login/", "/login.x;y", ""} {
			target := names + dots + end
			got, want := a.ask(t, "POST", target, "a", 404), wants(set, c, "POST", target, "a", 404)
			if depth > dotdots {
				want = []uint64{1, 1, 1, 1, 0}
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%d nested .. before %q: HAProxy counts %v, want %v", depth, end, got, want)
			}
		}
	}
	for _, target := range []string{"/a/.../b", "/..a/b", "/a../b", "/a/b/../../..", "/a?/../", "/a/..%2f..%2fb/.."} {
		if got, want := a.ask(t, "POST", target, "a", 404), wants(set, c, "POST", target, "a", 404); !slices.Equal(got, want) {
			t.Errorf("%q: HAProxy counts %v, want %v", target, got, want)
		}
	}
}
