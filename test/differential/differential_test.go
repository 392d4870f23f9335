package differential

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/config"
	"edgeguard/logline"
	"edgeguard/rules"
	"edgeguard/sensor/accesslog"
)

// number reads a number of the environment.
func number(t *testing.T, name string, otherwise uint64) uint64 {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// TestEveryServedRequestIsCounted is the proof: of what a server served, nothing
// is missing, nothing is of another client, and nothing of another path.
func TestEveryServedRequestIsCounted(t *testing.T) {
	requests := uint64(3000)
	if testing.Short() {
		requests = 1000
	}
	if os.Getenv("TORTURE") != "" {
		requests = 50_000
	}
	requests = number(t, "REQUESTS", requests)
	seed := number(t, "SEED", rand.Uint64())
	t.Logf("SEED=%d REQUESTS=%d", seed, requests)
	for i, start := range []func(*testing.T) *server{startNginx, startApache, startCaddy, startHAProxy} {
		name := []string{"nginx", "apache", "caddy", "haproxy"}[i]
		t.Run(name, func(t *testing.T) {
			s := start(t)
			g := generator{rand.New(rand.NewPCG(seed, uint64(i)))}
			all := make([]string, requests)
			for n := range all {
				all[n] = g.request()
			}
			s.send(all)
			s.stop()
			s.compare(all)
		})
	}
}

// first is the address of the first client; the others follow.
var first = netip.MustParseAddr("127.1.0.0").As4()

// client is the address that the n-th request comes from, and numberOf returns n.
func client(n int) netip.Addr {
	return netip.AddrFrom4([4]byte{first[0], first[1] + byte(n>>16), byte(n >> 8), byte(n)})
}

func numberOf(a netip.Addr) int {
	b := a.As4()
	return int(b[1]-first[1])<<16 | int(b[2])<<8 | int(b[3])
}

// senders is how many requests are under way together.
const senders = 16

// send sends all requests, each from its own address, and waits for each answer's
// end.
func (s *server) send(all []string) {
	next := make(chan int)
	var sending sync.WaitGroup
	for range senders {
		sending.Go(func() {
			for n := range next {
				if err := s.ask(n, all[n]); err != nil {
					s.t.Errorf("request %d: %v", n, err)
				}
			}
		})
	}
	for n := range all {
		next <- n
	}
	close(next)
	sending.Wait()
}

func (s *server) ask(n int, request string) error {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: client(n).AsSlice()}}
	c, err := d.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", s.port))
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	_, _ = io.WriteString(c, request) // it may be refused before its end
	_, err = io.Copy(io.Discard, c)
	if ne, ok := err.(net.Error); ok && ne.Timeout() {
		return fmt.Errorf("no answer to %q", short(request))
	}
	return nil
}

func short(s string) string { return s[:min(len(s), 300)] }

// served is what the judge says of a request.
type served struct {
	status int
	path   string
}

// verdicts reads the judge's log. What a server refuses to read is not served.
func (s *server) verdicts() map[netip.Addr]served {
	s.t.Helper()
	f, err := os.Open(s.judge)
	if err != nil {
		s.t.Fatal(err)
	}
	defer f.Close()
	out := make(map[netip.Addr]served)
	lines := bufio.NewReader(f)
	for {
		line, err := lines.ReadString('\n')
		if err == io.EOF {
			return out
		}
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 3)
		addr, err := netip.ParseAddr(parts[0])
		if err != nil || len(parts) < 3 {
			continue // the server's refusal of a line that it could not read
		}
		status, _ := strconv.Atoi(parts[1])
		if addr.As4()[1] < first[1] || status != 204 && status != 401 {
			continue
		}
		out[addr] = served{status, unescape(parts[2])}
	}
}

// unescape undoes what nginx and Apache write for bytes that they do not print.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		switch at := strings.IndexByte("abfnrtv", s[i]); {
		case s[i] == 'x' && i+2 < len(s):
			n, _ := strconv.ParseUint(s[i+1:i+3], 16, 8)
			b.WriteByte(byte(n))
			i += 2
		case at >= 0:
			b.WriteByte("\a\b\f\n\r\t\v"[at])
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// same compares two paths as keys show them.
func (s *server) same(a, b string) bool {
	if a == b || !s.lossy {
		return a == b
	}
	return lossless(a) == lossless(b)
}

// lossless returns a path's key without what a lossy log loses: which byte it was
// that is not UTF-8. A rule for such a path is written with a star.
func lossless(key string) string {
	path, err := url.PathUnescape(key)
	if err != nil {
		return key
	}
	return string([]rune(path))
}

// spelled writes a path so that it is read as itself: all of it escaped.
func spelled(path string) string {
	var b strings.Builder
	for i := range len(path) {
		if path[i] == '/' {
			b.WriteByte('/')
		} else {
			fmt.Fprintf(&b, "%%%02X", path[i])
		}
	}
	return b.String()
}

// ruleSet has a rule for a path, and one whose key shows every path.
func ruleSet(t *testing.T) *rules.Set {
	t.Helper()
	c, err := config.Parse("test.yaml", []byte(`
listen: {auth: ["127.0.0.1:9180"]}
rules:
  - {name: login, threshold: 20, match: {path: [/wp-login.php]}}
  - {name: paths, threshold: 20, key: {with: [path]}, action: deny}
`))
	if err != nil {
		t.Fatal(err)
	}
	return c.Rules
}

// ruled reports whether a rule for the path that was served counts the target:
// a target that servers read in two ways counts under both, and a key shows one.
func ruled(t *testing.T, path, target string) bool {
	t.Helper()
	set, problems := rules.Compile([]rules.Spec{{Name: "path", Threshold: 1, Match: rules.Match{Path: []string{spelled(path)}}}})
	if problems != nil {
		t.Fatal(problems)
	}
	_, ok := set.Meters[0].Match(&edgeguard.Event{Kind: edgeguard.KindRequest, Known: edgeguard.FieldPath, Path: target})
	return ok
}

// counted is what edgeguard makes of a log.
type counted struct {
	paths   map[netip.Addr][]string // by client: the paths as the rules' keys have them
	targets map[netip.Addr]string   // and the last one as it was logged
	logins  map[netip.Addr]int
	told    []edgeguard.Uncounted
	shown   []logline.Skipped
}

// read follows a log from its beginning to its end.
func (s *server) read(set *rules.Set, format, file string) *counted {
	s.t.Helper()
	format, _, _ = strings.Cut(format, ",")
	parsed, err := logline.ParseFormat(format)
	if err != nil {
		s.t.Fatal(err)
	}
	c := &counted{paths: map[netip.Addr][]string{}, targets: map[netip.Addr]string{}, logins: map[netip.Addr]int{}}
	f, err := accesslog.NewFollower(accesslog.FollowConfig{File: file, Beginning: true, Live: accesslog.Live{
		Format: parsed, Zone: time.Local, Now: time.Now,
		Decide:    func(_ time.Time, events []edgeguard.Event) { c.take(set, events) },
		Uncounted: func(_ time.Time, requests []edgeguard.Uncounted) { c.told = append(c.told, requests...) },
		Trouble:   func(at string, err error) {},
	}})
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = f.Run(ctx) }()
	size := fileSize(s.t, file)
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		if at := f.Position().Files; len(at) == 1 && at[0].Offset == size {
			break
		}
		if time.Now().After(deadline) {
			s.t.Errorf("%s is not read to its end", file)
			break
		}
	}
	cancel()
	<-done
	c.shown = f.Stats().Shown
	return c
}

func fileSize(t *testing.T, file string) int64 {
	t.Helper()
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

func (c *counted) take(set *rules.Set, events []edgeguard.Event) {
	for i := range events {
		ev := &events[i]
		for r := range set.Rules {
			m := &set.Meters[set.Rules[r].Meter]
			if _, ok := m.Match(ev); !ok {
				continue
			}
			if len(m.Attributes) == 0 {
				c.logins[ev.Addr]++
			} else if with, ok := m.AppendAttributes(ev, nil); ok {
				c.paths[ev.Addr] = append(c.paths[ev.Addr], string(with))
				c.targets[ev.Addr] = strings.Clone(ev.Path)
			}
		}
	}
}

// mostTold is how many differences of a log are shown.
const mostTold = 12

// compare lays what the judge served beside what each log gave.
func (s *server) compare(all []string) {
	set := ruleSet(s.t)
	verdicts := s.verdicts()
	if len(verdicts) < len(all)/4 {
		s.t.Fatalf("only %d of %d requests were served: the test tries nothing", len(verdicts), len(all))
	}
	keys := &set.Meters[set.Rules[1].Meter]
	var order []netip.Addr
	for addr := range verdicts {
		order = append(order, addr)
	}
	slices.SortFunc(order, netip.Addr.Compare)
	formats := make([]string, 0, len(s.logs))
	for format := range s.logs {
		formats = append(formats, format)
	}
	slices.Sort(formats)
	for _, format := range formats {
		c := s.read(set, format, s.logs[format])
		uncounted, elsewhere := 0, 0
		tell := func(kind *int, text string, args ...any) {
			if *kind++; *kind <= mostTold {
				s.t.Errorf("%s, %.40s: "+text, append([]any{s.name, format}, args...)...)
			}
		}
		for _, addr := range order {
			is, n := verdicts[addr], numberOf(addr)
			want, _ := keys.AppendAttributes(&edgeguard.Event{Path: spelled(is.path), Known: edgeguard.FieldPath}, nil)
			switch got := c.paths[addr]; {
			case len(got) == 0:
				tell(&uncounted, "request %d was served as %.80q and is not counted: %q", n, is.path, short(all[n]))
			case len(got) > 1 || !s.same(got[0], string(want)) && !ruled(s.t, is.path, c.targets[addr]):
				tell(&elsewhere, "request %d was served as %.80q and is counted as %.200q: %q", n, want, got, short(all[n]))
			case is.path == "/wp-login.php" && c.logins[addr] != 1:
				tell(&elsewhere, "request %d was a login, and the rule counts %d", n, c.logins[addr])
			}
		}
		for addr := range c.paths {
			if b := addr.As4(); !addr.Is4() || b[0] != 127 || b[1] < first[1] || numberOf(addr) >= len(all) {
				tell(&elsewhere, "%v is counted, who sent nothing", addr)
			}
		}
		s.t.Logf("%s, %.40s: %d requests, %d served, uncounted %d, counted elsewhere %d; told as uncounted: %s",
			s.name, format, len(all), len(order), uncounted, elsewhere, reasons(c.told))
		for _, skipped := range c.shown[:min(len(c.shown), 3)] {
			s.t.Logf("skipped: %.300s", skipped)
		}
	}
}

// reasons adds up what a log reported as uncounted.
func reasons(told []edgeguard.Uncounted) string {
	var count [edgeguard.Reasons]int
	for _, u := range told {
		count[u.Reason]++
	}
	var b bytes.Buffer
	for reason, n := range count {
		if n > 0 {
			fmt.Fprintf(&b, "%v %d ", edgeguard.Reason(reason), n)
		}
	}
	if b.Len() == 0 {
		return "none"
	}
	return strings.TrimSpace(b.String())
}
