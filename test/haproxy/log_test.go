//go:build linux

package haproxy

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/admin/client"
	"edgeguard/blocklist"
	"edgeguard/cmd/edgeguard/snippets"
	"edgeguard/config"
	"edgeguard/detector"
	"edgeguard/internal/program"
	"edgeguard/logline"
	"edgeguard/sensor/accesslog"
	"edgeguard/shard"
)

// packaged are the rules of the packaged config, which only report here, so that all they count
// stays. HAProxy is taught blocks by its peers protocol and counts by its log.
const packaged = `
node: test
state: $DIR/state
own_hosts: [shop.example]
listen: {auth: [], admin: ["unix:$DIR/admin.sock"]}
haproxy: {peers: [{listen: "unix:$DIR/peers.sock", user: "%d", count: false}]}
sensors: {accesslog: [{listen: "unix:$DIR/log.sock", format: haproxy}]}
presets: [{name: web@1, action: shadow}, {name: login@1, action: shadow}, {name: wordpress@1, action: shadow}]
`

// unseen is the rule that HAProxy's log cannot count for: of what is no HTTP it has no byte.
const unseen = "web/misdirected-tls"

// edge is HAProxy with the printed lines beside a node.
type edge struct {
	*program.Process
	t       *testing.T
	admin   *client.Client
	address string // of the frontend
	written string // the file with the log's lines, which HAProxy wrote besides
}

func newEdge(t *testing.T) *edge {
	t.Helper()
	haproxy, err := exec.LookPath("haproxy")
	if err != nil {
		t.Skip("haproxy is not installed: scripts/need haproxy")
	}
	e := &edge{t: t, Process: program.NewNode(t, fmt.Sprintf(packaged, os.Getuid())), address: program.Address(t)}
	e.written = e.Path("haproxy.log")
	if e.admin, err = client.New(client.Config{Address: "unix:" + e.Path("admin.sock")}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.admin.Close() })
	e.Launch()
	e.Until("edgeguard listens", func() bool { _, err := os.Stat(e.Path("log.sock")); return err == nil })
	lines, err := snippets.Text("haproxy-peers", "proxy", snippets.Values{Listen: "0", Peers: "unix:" + e.Path("peers.sock"), Log: "unix:" + e.Path("log.sock")})
	if err != nil {
		t.Fatal(err)
	}
	answers := "    http-request set-src hdr(X-Test-Client)\n"
	for _, status := range []int{400, 401, 402, 403, 404, 410, 500} {
		answers += fmt.Sprintf("    http-request return status %d if { req.hdr(X-Status) %d }\n", status, status)
	}
	lines = strings.NewReplacer("bind :0\n", "bind "+e.address+"\n    log stdout len 16000 format raw local0 info\n"+answers[:strings.Index(answers, "\n")+1],
		"/var/lib/haproxy/peers.sock user haproxy group haproxy", e.Path("haproxy.sock"),
		"    default_backend", answers[strings.Index(answers, "\n")+1:]+"    http-request return status 200\n    default_backend").Replace(lines)
	file := write(t, e.Path("haproxy.cfg"), "global\n    nbthread 1\n    maxconn 1000\ndefaults\n    mode http\n    timeout connect 10s\n    timeout client 60s\n    timeout server 60s\n"+lines)
	out, err := os.Create(e.written)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { out.Close() })
	var said bytes.Buffer
	c := exec.Command(haproxy, "-db", "-f", file)
	c.Stdout, c.Stderr = out, &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
		if t.Failed() {
			t.Logf("HAProxy said:\n%.4000s", said.String())
		}
	})
	e.Until("HAProxy has connected", func() bool {
		s, err := e.admin.Status(t.Context())
		return err == nil && len(s.HAProxies) == 1 && len(s.HAProxies[0].HAProxies) == 1
	})
	return e
}

// send writes requests, each of its client, on one connection, and reads the answers.
func (e *edge) send(requests []string) error {
	c, err := net.Dial("tcp", e.address)
	if err != nil {
		return err
	}
	defer c.Close()
	r := bufio.NewReader(c)
	for len(requests) > 0 {
		together := requests[:min(16, len(requests))]
		if _, err := io.WriteString(c, strings.Join(together, "")); err != nil {
			return err
		}
		for _, request := range together {
			res, err := http.ReadResponse(r, nil)
			if err != nil {
				return fmt.Errorf("%.200q: %w", request, err)
			}
			_, _ = io.Copy(io.Discard, res.Body)
		}
		requests = requests[len(together):]
	}
	return nil
}

// follows waits until few of the lines that were sent are on their way: they have room in HAProxy's
// ring, which would drop others.
func (e *edge) follows(sent int) {
	for e.t.Context().Err() == nil {
		s, err := e.admin.Status(e.t.Context())
		if err == nil && len(s.Logs) == 1 && sent-int(s.Logs[0].Lines+s.Logs[0].Lost) < 3000 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// clients are those who ask: too few for the site to seem to fail.
var clients = []netip.Addr{
	netip.MustParseAddr("203.0.113.7"), netip.MustParseAddr("203.0.113.8"), netip.MustParseAddr("198.51.100.9"), netip.MustParseAddr("8.8.4.4"),
	netip.MustParseAddr("2001:4860:7::1"), netip.MustParseAddr("2001:4860:7:1::1"),
}

// asked are what some rule or other counts: a request's method, target and answer.
var asked = []struct {
	method, target string
	status         int
}{
	{"GET", "/", 200}, {"GET", "/page/%d", 200}, {"GET", "/api/item/%d", 200}, {"GET", "/cart", 402}, {"GET", "http://other.example/%d", 404},
	{"GET", "/old%d.php", 404}, {"POST", "/form%d.php", 404}, {"GET", "/.env.%d", 403}, {"GET", "/gone/%d", 404}, {"GET", "/?file=../../../etc/passwd%d", 200},
	{"POST", "/login", 401}, {"POST", "/login", 400}, {"POST", "/register", 200}, {"GET", "/private", 401}, {"POST", "/wp-login.php", 200},
	{"POST", "/wp-login.php?action=register", 403}, {"POST", "/xmlrpc.php", 200}, {"POST", "/xmlrpc.php", 404}, {"GET", "/?author=%d", 200},
	{"POST", "/wp-comments-post.php", 200}, {"GET", "/" + strings.Repeat("./", 2500) + "old%d.php", 404}, {"GET", "/wp-content/plugins/p%d/readme.txt", 404}, {"GET", "/wp-content/plugins/p%d/style.css", 404},
}

// Headers as clients write them, those included who want to be read as somebody else.
var (
	agents = []string{
		"", "curl/8.5", "Mozilla/5.0 (Windows NT 10.0; Win64; x64) Firefox/140.0", "Mozilla/5.0 (X11; Linux) Firefox/%d.0", "Googlebot/2.1",
		`a"b\"c`, "a|b}c{d", `} "GET /page/1 HTTP/1.1"`, "|||", "#7C#22", "\t\x7f\xff\xc3\xa9", `edgeguard{h|r|a}`, strings.Repeat(`"#`, 4000),
		`8.8.8.8:1 [29/Nov/2026:00:00:00.000] f b/s 0/0/0/0/0 200 1 - - ---- 1/1/1/0/0 0/0 edgeguard{|||} "GET / HTTP/1.1"`,
	}
	referers = []string{"", strings.Repeat(`"`, 2000), "https://shop.example/", "https://other.example/x?a|b", `"`, "-"}
)

// request draws one for a client.
func request(rnd *rand.Rand, c netip.Addr) string {
	what := asked[rnd.IntN(len(asked))]
	numbered := func(s string) string { return strings.ReplaceAll(s, "%d", fmt.Sprint(rnd.IntN(8))) }
	host, head := "shop.example", ""
	if at, found := strings.CutPrefix(what.target, "http://"); found {
		host, _, _ = strings.Cut(at, "/")
	}
	for name, values := range map[string][]string{"User-Agent": agents, "Referer": referers} {
		if v := numbered(values[rnd.IntN(len(values))]); v != "" {
			head += name + ": " + v + "\r\n"
		}
	}
	return fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\nX-Test-Client: %s\r\nX-Status: %d\r\nContent-Length: 0\r\n%s\r\n", what.method, numbered(what.target), host, c, what.status, head)
}

// counts are what each client counts for each rule, and what everybody does for each rule and key. Of many different values it is an estimate.
type counts map[netip.Addr]map[string]count

type count struct {
	n        uint32
	estimate bool
}

// replayed counts what HAProxy wrote into its file.
func (e *edge) replayed() (all counts, events int) {
	e.t.Helper()
	c, err := config.Load(e.Path("config.yaml"))
	if err != nil {
		e.t.Fatal(err)
	}
	d := detector.New(detector.Config{Rules: c.Rules, Memory: shard.NewMemory(64 << 20), List: blocklist.New(blocklist.Config{}), Requests: true})
	defer d.Close(nil)
	f, err := logline.ParseFormat("haproxy")
	if err != nil {
		e.t.Fatal(err)
	}
	r, err := accesslog.Open(e.written, f, accesslog.Options{Zone: time.Local})
	if err != nil {
		e.t.Fatal(err)
	}
	defer r.Close()
	for {
		batch, err := r.Next()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				e.t.Fatal(err)
			}
			break
		}
		events += len(batch)
		nows := make([]time.Time, len(batch))
		for i := range batch {
			nows[i] = batch[i].Time
		}
		d.DecideBatch(nows, batch, make([]edgeguard.Verdict, len(batch)))
	}
	all = counts{}
	for _, addr := range clients {
		all[addr] = map[string]count{}
		for _, r := range d.Explain(time.Now(), addr).Rules {
			all[addr][r.Rule] = count{r.Count, r.Distinct != 0}
		}
	}
	everybody := map[string]count{}
	for i := range c.Rules.Rules {
		for _, with := range everybodys {
			rule := c.Rules.Rules[i].Name
			if x, found := d.ExplainKey(time.Now(), rule, with); found {
				everybody[rule+" "+with] = count{x.Count, x.Distinct != 0}
				for _, addr := range clients {
					delete(all[addr], rule)
				}
			}
		}
	}
	all[netip.Addr{}] = everybody
	return all, events
}

// everybodys are keys of rules that count everybody together.
var everybodys = []string{"path=/login", "path=/wp-login", "path=/old1.php", "path=/old1"}

// lived are the counts of the node, and those of everybody of the keys that want has.
func (e *edge) lived(want counts) counts {
	e.t.Helper()
	everybody := map[string]count{}
	for key := range want[netip.Addr{}] {
		rule, with, _ := strings.Cut(key, " ")
		x, err := e.admin.ExplainKey(e.t.Context(), rule, with)
		if err != nil {
			e.t.Fatal(err)
		}
		everybody[key] = count{n: x.Rule.Count}
	}
	all := counts{{}: everybody}
	for _, addr := range clients {
		x, err := e.admin.Explain(e.t.Context(), addr)
		if err != nil {
			e.t.Fatal(err)
		}
		all[addr] = map[string]count{}
		for _, r := range x.Rules {
			all[addr][r.Rule] = count{r.Count, r.Distinct != ""}
		}
	}
	return all
}

// ordinary draws a page that a browser asks for.
func ordinary(rnd *rand.Rand, c netip.Addr) string {
	return fmt.Sprintf("GET /page/%d HTTP/1.1\r\nHost: shop.example\r\nX-Test-Client: %s\r\nUser-Agent: %s\r\nReferer: %s\r\n\r\n", rnd.IntN(8), c, agents[2], referers[2])
}

// play sends requests after some, and returns when the node has read their lines.
func (e *edge) play(already, requests int, draw func(*rand.Rand, netip.Addr) string) {
	const connections = 4
	var all sync.WaitGroup
	var sent atomic.Int64
	sent.Store(int64(already))
	for i := range connections {
		rnd := rand.New(rand.NewPCG(1, uint64(i)))
		all.Go(func() {
			for left := requests / connections; left > 0; left -= 1000 {
				some := make([]string, min(left, 1000))
				for n := range some {
					some[n] = draw(rnd, clients[rnd.IntN(len(clients))])
				}
				if err := e.send(some); err != nil {
					e.t.Error(err)
					return
				}
				e.follows(int(sent.Add(int64(len(some)))))
			}
		})
	}
	all.Wait()
	e.Until("all lines have come", func() bool {
		s, err := e.admin.Status(e.t.Context())
		return err == nil && len(s.Logs) == 1 && s.Logs[0].Lines+s.Logs[0].Lost >= uint64(already+requests)
	})
}

// TestEveryRuleCounts has clients ask at HAProxy whatever they like, and compares what each of the
// packaged rules counts of each of them with what HAProxy's own file has.
func TestEveryRuleCounts(t *testing.T) {
	requests := 20_000
	switch {
	case testing.Short():
		requests = 4000
	case os.Getenv("TORTURE") != "":
		requests = 500_000
	}
	e := newEdge(t)
	for i, draw := range []func(*rand.Rand, netip.Addr) string{ordinary, request} {
		before, err := program.CPU(e.PID())
		if err != nil {
			t.Fatal(err)
		}
		e.play(i*requests/2, requests/2, draw)
		if after, err := program.CPU(e.PID()); err == nil {
			t.Logf("%s: %.1f µs of edgeguard's processor time a request (goal: 10)", []string{"pages", "hostile requests, each of several rules"}[i],
				float64((after-before).Nanoseconds())/1e3/float64(requests/2))
		}
	}
	s, err := e.admin.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if l := s.Logs[0]; l.Parsed != uint64(requests) || l.Skipped+l.Lost+l.Suppressed > 0 {
		t.Errorf("of %d requests: %+v", requests, l)
	}
	want, events := e.replayed()
	live := e.lived(want)
	if events != requests {
		t.Errorf("HAProxy wrote %d requests of %d", events, requests)
	}
	sum := map[string]uint32{}
	for addr, rules := range want {
		for rule, n := range rules {
			name, _, _ := strings.Cut(rule, " ")
			sum[name] += n.n
			off, got := uint32(0), live[addr][rule].n
			if n.estimate {
				off = n.n / 20
			}
			if got+off < n.n || n.n+off < got {
				t.Errorf("%s of %v: %d, want %d", rule, addr, got, n.n)
			}
		}
	}
	for rule, n := range sum {
		if n == 0 != (rule == unseen) {
			t.Errorf("%s counts %d", rule, n)
		}
	}
	t.Logf("%d rules counted %d requests", len(sum)-1, requests)
}

// lines is how many the node that runs has read.
func (e *edge) lines() uint64 {
	s, err := e.admin.Status(e.t.Context())
	if err != nil || len(s.Logs) != 1 {
		return 0
	}
	return s.Logs[0].Lines
}

// TestRestartLosesNoLine stops edgeguard and starts it again. What is logged meanwhile waits in the ring.
func TestRestartLosesNoLine(t *testing.T) {
	e := newEdge(t)
	rnd := rand.New(rand.NewPCG(2, 3))
	ask := func(n int) {
		t.Helper()
		some := make([]string, n)
		for i := range some {
			some[i] = request(rnd, clients[i%len(clients)])
		}
		if err := e.send(some); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		before := e.lines()
		ask(500)
		e.Until("the lines have come", func() bool { return e.lines() == before+500 })
		e.Stop()
		ask(500)
		e.Launch()
		e.Until("the lines that waited have come", func() bool { return e.lines() == 500 })
	}
}
