package httpauth

import (
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"edgeguard"
	"edgeguard/sensor/clientaddr"
)

// told collects what is told of uncounted requests.
type told struct {
	mu  sync.Mutex // guards what follows
	all []string
}

func (u *told) hear(_ time.Time, requests []edgeguard.Uncounted) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, r := range requests {
		who := ""
		if r.Addr.IsValid() {
			who = " " + r.Addr.String()
		}
		u.all = append(u.all, r.Reason.String()+who)
	}
}

func (u *told) heard() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.all)
}

const manyBytes = 20 << 10

// A question whose header is over the limit is refused, and counted where every
// line that could name the client was read whole.
func TestLongHeaderIsCounted(t *testing.T) {
	junk := "Cookie: " + strings.Repeat("x", manyBytes) + "\r\n"
	nginx := "GET /auth/nginx HTTP/1.1\r\nHost: site.example\r\n"
	forward := "GET /auth/forward HTTP/1.1\r\nHost: h\r\n"
	known := described &^ edgeguard.FieldHeader
	for _, c := range []struct {
		name, raw string
		want      *edgeguard.Event
		told      []string
	}{
		{"the junk is first", nginx + junk + "User-Agent: curl/8\r\nX-Real-IP: 203.0.113.9\r\nX-Original-URI: /login\r\nX-Original-Method: POST\r\n\r\n",
			&edgeguard.Event{Addr: addr("203.0.113.9"), Known: known, Host: "site.example", Method: "POST", Path: "/login", Agent: "curl/8"}, nil},
		{"the junk is last", nginx + "X-Real-IP: 203.0.113.9\r\n" + junk + "\r\n",
			&edgeguard.Event{Addr: addr("203.0.113.9"), Known: edgeguard.FieldHost | edgeguard.FieldAgent, Host: "site.example"}, nil},
		{"the last element decides, and was not in the buffer", forward + "X-Forwarded-For: 1.1.1.1\r\n" + junk + "x-forwarded-FOR: 203.0.113.9\r\nX-Forwarded-Uri: /a\r\n\r\n",
			&edgeguard.Event{Addr: addr("203.0.113.9"), Known: edgeguard.FieldPath | edgeguard.FieldAgent, Path: "/a"}, nil},
		{"the naming line itself is too long", forward + "X-Forwarded-For: " + strings.Repeat("1.1.1.1, ", manyBytes/9) + "203.0.113.9\r\n\r\n", nil, []string{"headers_too_long"}},
		{"the naming lines are too many", forward + strings.Repeat("X-Forwarded-For: 1.1.1.1\r\n", manyBytes/26+1) + "\r\n", nil, []string{"headers_too_long"}},
		{"a folded line", forward + "X-Forwarded-For: 203.0.113.9\r\n" + junk + " , 1.1.1.1\r\n\r\n", nil, []string{"headers_too_long"}},
		{"no end", forward + "X-Forwarded-For: 203.0.113.9\r\n" + strings.Repeat(junk, maxLong/manyBytes+2), nil, []string{"headers_too_long"}},
		{"no client", forward + junk + "\r\n", nil, []string{"no_client"}},
		{"a long path", nginx + "X-Real-IP: 203.0.113.9\r\nX-Original-URI: /" + strings.Repeat("x", manyBytes) + "\r\n\r\n",
			&edgeguard.Event{Addr: addr("203.0.113.9"), Known: edgeguard.FieldHost | edgeguard.FieldAgent, Host: "site.example"}, []string{"field_cut 203.0.113.9"}},
		{"a long path of Envoy's", "POST /auth/envoy/" + strings.Repeat("x", manyBytes) + " HTTP/1.1\r\nHost: h\r\nx-forwarded-for: 203.0.113.9\r\n\r\n",
			&edgeguard.Event{Addr: addr("203.0.113.9"), Known: edgeguard.FieldHost | edgeguard.FieldMethod | edgeguard.FieldAgent, Host: "h", Method: "POST"}, []string{"field_cut 203.0.113.9"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, u := &desk{}, &told{}
			config := d.config()
			config.Uncounted = u.hear
			l := listenTCP(t)
			s := start(t, config, l)
			if got := raw(t, l, c.raw); !strings.HasPrefix(got, "HTTP/1.1 403 ") || !strings.Contains(got, "X-Edgeguard-Status: 431\r\n") {
				t.Errorf("the answer is %q", got)
			}
			if got := u.heard(); !slices.Equal(got, c.told) {
				t.Errorf("told %q, want %q", got, c.told)
			}
			if c.want == nil {
				if d.asked() != 0 || s.Stats().Overlong != 0 {
					t.Errorf("counted %+v", d.last(t))
				}
				return
			}
			c.want.Named = true
			if diff := cmp.Diff(request(*c.want), d.last(t), cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
				t.Error(diff)
			}
			if s.Stats().Overlong != 1 {
				t.Errorf("%+v", s.Stats())
			}
		})
	}
}

// A stranger is the client himself, whatever his header.
func TestLongHeaderOfStranger(t *testing.T) {
	trust, err := clientaddr.NewTrust([]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, false)
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{}
	config := d.config()
	config.Trust = trust
	l := listenTCP(t)
	start(t, config, l)
	raw(t, l, "GET /auth/forward HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: "+strings.Repeat("1.1.1.1, ", manyBytes)+"\r\n\r\n")
	if got := d.last(t).Addr; got != addr("127.0.0.1") {
		t.Errorf("counted %v", got)
	}
}

// With random lines around them, of any length and in any pieces, the client
// that is counted is the one that a small header names; or none is.
func TestLongHeaderNamesTheSameClient(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 2))
	for range 60 {
		d, u := &desk{}, &told{}
		config := d.config()
		config.Uncounted = u.hear
		l := listenTCP(t)
		const minHeaderLimit = 1 << 10
		startWith(t, config, minHeaderLimit, l)
		var naming, all strings.Builder
		for range r.IntN(4) {
			line := "X-Forwarded-For: " + strings.Repeat("10.0.0.1,", r.IntN(150)) + []string{"203.0.113.9", "127.0.0.2", "unknown", "203.0.113.10, 127.0.0.3"}[r.IntN(4)] + "\r\n"
			naming.WriteString(line)
			all.WriteString("X-Junk: " + strings.Repeat("y", r.IntN(3000)) + "\r\n" + line)
		}
		all.WriteString("Cookie: " + strings.Repeat("z", 1024+r.IntN(3000)) + "\r\n")
		finder, err := clientaddr.NewFinder(mustTrust(t), "")
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for line := range strings.SplitSeq(strings.TrimSuffix(naming.String(), "\r\n"), "\r\n") {
			if _, value, ok := strings.Cut(line, ": "); ok {
				lines = append(lines, value)
			}
		}
		want := finder.Find(addr("127.0.0.1"), lines)
		rawInPieces(t, l, r, "GET /auth/forward HTTP/1.1\r\nHost: h\r\n"+all.String()+"\r\n")
		switch told := u.heard(); {
		case d.asked() == 1 && len(told) == 0:
			if got := d.last(t).Addr; got != want.Addr {
				t.Fatalf("seed %d: counted %v, want %v of\n%s", seed, got, want.Addr, all.String())
			}
		case d.asked() != 0 || len(told) != 1 || naming.Len() < minHeaderLimit-100 && want.FromHeader():
			t.Fatalf("seed %d: asked %d, told %q of\n%s", seed, d.asked(), told, all.String())
		}
	}
}

func mustTrust(t *testing.T) *clientaddr.Trust {
	t.Helper()
	trust, err := clientaddr.NewTrust(clientaddr.Loopback(), true)
	if err != nil {
		t.Fatal(err)
	}
	return trust
}

// rawInPieces sends a request in pieces and waits for the answer's end.
func rawInPieces(t *testing.T, l net.Listener, r *rand.Rand, request string) {
	t.Helper()
	c, err := net.Dial(l.Addr().Network(), l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for len(request) > 0 {
		n := min(len(request), 1+r.IntN(2000))
		if _, err := c.Write([]byte(request[:n])); err != nil {
			break // it was answered before its end
		}
		request = request[n:]
	}
	_ = c.SetReadDeadline(time.Now().Add(patience))
	buf := make([]byte, 1024)
	for {
		if _, err := c.Read(buf); err != nil {
			return
		}
	}
}
