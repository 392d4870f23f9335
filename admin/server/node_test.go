package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/admin/call"
	"edgeguard/admin/client"
	"edgeguard/admin/metrics"
	"edgeguard/admin/server"
	"edgeguard/admin/watch"
	"edgeguard/attack"
	"edgeguard/blocklist"
	"edgeguard/eventlog"
	"edgeguard/internal/words"
	"edgeguard/tuning"
)

// start is the time of every test's node.
var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// node is a Reader and an Operator on a real blocklist, with everything else made up.
type node struct {
	filter
	feeds
	keyring
	named

	list   *blocklist.List
	events *admin.Events
	rules  []admin.Rule
	nodes  []admin.FleetNode
	held   []admin.HeldBlock
	others admin.FleetHeld // what the other nodes hold, or why they cannot be asked
	cutOff error
	// keyless: there is no fleet key. unsigned records have no signature.
	keyless  bool
	unsigned int

	evidence map[netip.Prefix]edgeguard.Evidence
	samples  admin.KeptSamples
	sampled  netip.Prefix // of samples
	crowd    attack.Crowd

	looks atomic.Int64 // at all keys of a rule
	later atomic.Int64 // how long after start it is, in nanoseconds

	mu      sync.Mutex
	stats   admin.Stats
	reload  error
	reloads int
	audits  []admin.Audit
	cleared []netip.Prefix
}

// crowded sends most of the requests.
var crowded = netip.MustParsePrefix("198.18.0.0/16")

// busy send much, and too much together.
var busy = [2]netip.Prefix{netip.MustParsePrefix("198.51.100.1/32"), netip.MustParsePrefix("198.51.100.2/32")}

func newNode() *node {
	n := &node{
		list: blocklist.New(blocklist.Config{
			Allow:     []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")},
			Protected: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("10.0.0.1/32")},
		}),
		events: admin.NewEvents("n1", eventlog.New(eventlog.Config{}), unit),
		rules: []admin.Rule{{Name: "site", Kind: "request", Key: "address", Window: 300, Threshold: 2000, Guard: "0.95", Limit: 1900, Action: "block", BlockFor: 600,
			Crossings:  []admin.Crossings{{Action: "alarm", Count: 1}, {Action: "block", Count: 3}},
			Candidates: []admin.Candidate{{Threshold: 1000, Limit: 950, Over: 7, Crossings: 2}}}},
		samples: admin.KeptSamples{Each: 16, ForReaders: true},
		stats:   admin.Stats{Node: "n1", Version: "test", Ready: true, Started: start},
	}
	n.list.OnChange(func(b edgeguard.Block) { n.events.Block(start, b, nil, false) })
	return n
}

// unit is what each node's rules count.
func unit(rule, _ string) words.Measure {
	if rule != "site" {
		return words.Measure{}
	}
	return words.Measure{Each: 1, One: "request", Many: "requests"}
}

func (n *node) Unit(rule, origin string) words.Measure { return unit(rule, origin) }

func (n *node) Now() time.Time { return start.Add(time.Duration(n.later.Load())) }

func (n *node) Blocks(now time.Time, from netip.Prefix) iter.Seq[edgeguard.Block] {
	return func(yield func(edgeguard.Block) bool) {
		for b := range n.list.All(now) {
			if b.Prefix.Compare(from) >= 0 && !yield(b) {
				return
			}
		}
	}
}

func (n *node) Newest(now time.Time, only blocklist.Only, after blocklist.Place) iter.Seq[edgeguard.Block] {
	return n.list.Newest(now, only, after)
}

func (n *node) Refusals(prefix netip.Prefix) (uint32, time.Time) {
	events, last, _ := n.list.Refusals(prefix)
	return events, last
}

func (n *node) Active(blocks []edgeguard.Block) []admin.ActiveBlock {
	out := make([]admin.ActiveBlock, len(blocks))
	for i, b := range blocks {
		out[i].Block = admin.NewBlock(b)
		out[i].Imported = n.feeds.set != nil && n.feeds.set.Has(edgeguard.Owner(b.Rule))
		if b.Proxied {
			out[i].RefusedBy = "nft"
			continue
		}
		refused, last, _ := n.list.Refusals(b.Prefix)
		if out[i].Refused = &refused; refused > 0 {
			out[i].LastRefused = last
		}
	}
	return out
}

func (n *node) Evidence(prefix netip.Prefix) (edgeguard.Evidence, bool) {
	e, ok := n.evidence[prefix]
	return e, ok
}

// ExplainKey has nothing: no rule has keys without an address.
func (n *node) ExplainKey(time.Time, string, string) (admin.RuleCount, bool) {
	return admin.RuleCount{}, false
}

// MayBeCustomer says so of one address.
func (n *node) MayBeCustomer(prefix netip.Prefix) bool {
	return prefix.Addr() == netip.AddrFrom4([4]byte{8, 8, 8, 8})
}

// Crowd has who came to any key.
func (n *node) Crowd(string, string, time.Time) (attack.Crowd, bool) {
	return n.crowd, n.crowd.Members != nil
}

func (n *node) Samples(prefix netip.Prefix) admin.KeptSamples {
	out := n.samples
	if out.Samples = nil; prefix == n.sampled {
		out.Samples = slices.Clone(n.samples.Samples)
	}
	return out
}

func (n *node) Blocklist() blocklist.Stats { return n.list.Stats() }

func (n *node) CountOf(having func(blocklist.Common) bool) (int, bool) { return n.list.Count(having) }

func (n *node) Find(now time.Time, prefix netip.Prefix) (found []edgeguard.Block) {
	for b := range n.list.All(now) {
		if b.Prefix.Bits() <= prefix.Bits() && b.Prefix.Contains(prefix.Addr()) {
			found = append(found, b)
		}
	}
	slices.Reverse(found)
	return found
}

func (n *node) Exact(now time.Time, prefix netip.Prefix) (b edgeguard.Block, ok bool) {
	if found := n.list.BlockOf(now, prefix); found != nil {
		return *found, true
	}
	return b, false
}

func (n *node) ExactAllowance(now time.Time, prefix netip.Prefix) (edgeguard.Block, bool) {
	b, ok := n.list.Allowance(now, prefix)
	return b, ok && b.Prefix == prefix
}

func (n *node) Block(b edgeguard.Block, force bool) (edgeguard.Block, error) {
	b.Origin = "n1"
	if !force && b.Prefix == crowded {
		return b, &admin.TooMuchError{Prefix: b.Prefix, Share: 0.41, Limit: 0.2}
	}
	if edgeguard.Owner(b.Rule) != "" {
		b, _, err := n.list.AddOwned(b, start)
		return b, err
	}
	b, _, err := n.list.Add(b, force, start)
	return b, err
}

// Import knows two prefixes of which each sends 15 % of the requests.
func (n *node) Import(b edgeguard.Block, spent float64, try bool) (edgeguard.Block, float64, error) {
	share := 0.0
	if b.Prefix == busy[0] || b.Prefix == busy[1] {
		share = 0.15
	}
	if share > 0 && spent+share > 0.2 {
		return b, 0, &admin.TooMuchError{Prefix: b.Prefix, Share: spent + share, Limit: 0.2, Together: spent > 0}
	}
	if try {
		return b, share, n.list.Check(b, start)
	}
	b, err := n.Block(b, false) // or an allowance
	return b, share, err
}

func (n *node) Weigh(b edgeguard.Block) (float64, error) {
	if b.Prefix == crowded {
		return 0.41, &admin.TooMuchError{Prefix: b.Prefix, Share: 0.41, Limit: 0.2}
	}
	return 0, n.list.Check(b, start)
}

func (n *node) Inside(_ time.Time, prefix netip.Prefix) admin.Inside {
	n.looks.Add(1)
	return admin.Inside{Keys: 3, Window: 300, Protected: n.list.ProtectedIn(prefix, admin.MostExempt)}
}

func (n *node) Allowlist() []netip.Prefix {
	return []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
}

func (n *node) Allowances(now time.Time) iter.Seq[edgeguard.Block] { return n.list.Allowances(now) }

func (n *node) Allow(b edgeguard.Block, force bool) (edgeguard.Block, error) {
	b.Allow = true
	return n.Block(b, force)
}

func (n *node) Disallow(prefix netip.Prefix, reason string) (edgeguard.Block, bool) {
	return n.list.Disallow(prefix, start, reason, "n1")
}

// UnblockMany is the list's, and notes whose counts would be cleared.
func (n *node) UnblockMany(blocks []edgeguard.Block, goes func(*edgeguard.Block) bool, reason string, try bool) (lifted []blocklist.Lifted) {
	for _, b := range blocks {
		x, ok := blocklist.Lifted{Was: b, Left: edgeguard.Block{Lifted: true}}, true
		if !try {
			x, ok = n.list.LiftSame(b, goes, start, reason, "n1")
		}
		if ok {
			lifted = append(lifted, x)
		}
	}
	return lifted
}

func (n *node) PutBack(x blocklist.Lifted) (edgeguard.Block, bool, error) {
	return n.list.PutBack(x, start, "n1")
}

func (n *node) Unblock(prefix netip.Prefix, reason string) (edgeguard.Block, bool) {
	n.mu.Lock()
	n.cleared = append(n.cleared, prefix)
	n.mu.Unlock()
	for i, b := range n.held {
		if b.Prefix == prefix {
			n.held = slices.Delete(n.held, i, i+1)
			return edgeguard.Block{Prefix: prefix, Lifted: true, Reason: reason}, true
		}
	}
	return n.list.Lift(prefix, start, reason, "n1")
}

func (n *node) UnblockOwned(prefix netip.Prefix, owner, reason string) (edgeguard.Block, bool) {
	return n.list.LiftOwned(prefix, owner, start, reason, "n1")
}

func (n *node) Held() []admin.HeldBlock { return n.held }

func (n *node) Confirm(prefix netip.Prefix) (edgeguard.Block, bool, error) {
	for i, b := range n.held {
		if b.Prefix == prefix {
			n.held = slices.Delete(n.held, i, i+1)
			confirmed := edgeguard.Block{Prefix: prefix, Rule: b.Rule, Origin: b.Origin, Since: b.Since, Until: b.Until, Version: 2}
			_, err := n.list.Force(confirmed, start)
			return confirmed, true, err
		}
	}
	return edgeguard.Block{}, false, nil
}

func (n *node) Sign(really bool) (int, int, error) {
	if n.keyless {
		return 0, 0, errors.New("this node has no fleet key")
	}
	unsigned := n.unsigned
	if really {
		n.unsigned = 0
	}
	return 7, unsigned, nil
}

func (n *node) FleetCounts(_ context.Context, keys []admin.FleetKey, _ bool) []*admin.FleetCount {
	return make([]*admin.FleetCount, len(keys))
}

func (n *node) Explain(now time.Time, addr netip.Addr) admin.Explanation {
	standing, b := n.list.Find(now, addr)
	e := admin.Explanation{Address: addr, Time: now, Standing: standing.String()}
	if standing == blocklist.Blocked {
		e.Block = &n.Active([]edgeguard.Block{*b})[0]
	}
	e.Rules = []admin.RuleCount{{Rule: "site", Key: addr.String(), Action: edgeguard.ActionBlock, Count: 3, Limit: 1900, Threshold: 2000, Window: 300, Slots: make([]uint16, 60)}}
	return e
}

func (n *node) Glance(now time.Time, addr netip.Addr) (string, []admin.RuleCount) {
	e := n.Explain(now, addr)
	return e.Standing, e.Rules
}

func (n *node) Rates() []watch.Series { return []watch.Series{{Step: 5, Requests: []uint64{7}}} }

func (n *node) Day() []watch.DayMinute {
	return []watch.DayMinute{{Begin: start.Add(-time.Hour), Requests: 7}, {Begin: start, Requests: 9, Rules: map[string]watch.RuleCounters{"site": {Denied: 2}}}}
}

// Figures returns made-up counts and the block that holds the prefix.
func (n *node) Figures(now time.Time, k watch.Key) watch.Figures {
	f := watch.Figures{Prefix: k.Prefix, Rule: "site", Count: 3, Limit: 1900, Window: 300, Slots: make([]uint16, k.Slots), SlotBegan: now}
	if found := n.Find(now, k.Prefix); len(found) > 0 {
		f.Until = found[0].Until
	}
	return f
}

func (n *node) Rules() []admin.Rule { return n.rules }

func (n *node) Counts(_ time.Time, rule string, top int) (admin.Counts, bool) {
	n.looks.Add(1)
	c := admin.Counts{Tally: tuning.NewTally(tuning.Config{Live: true, Top: top}), LimitOf: func(threshold uint32) uint32 { return (threshold*95 + 99) / 100 }}
	for i := range uint32(1000) {
		c.Tally.RecordPeak(key(i), 1000-i)
	}
	if rule != "site" {
		return admin.Counts{}, false
	}
	return c, true
}

// Past returns a window every five minutes of the last hour, but for one, each with
// the keys of Counts.
func (n *node) Past(now time.Time, rule string, length time.Duration) (admin.Windows, bool) {
	c, found := n.Counts(now, rule, 1)
	windows := admin.Windows{Step: 5 * time.Minute, LimitOf: c.LimitOf}
	for ago := min(length, time.Hour); found && ago > 0; ago -= windows.Step {
		if ago != 20*time.Minute {
			windows.All = append(windows.All, tuning.Window{From: now.Add(-ago), At: now.Add(windows.Step - ago), Counts: c.Tally.Peaks.Sparse()})
		}
	}
	return windows, found
}

func (n *node) Top(_ time.Time, top int) []admin.KeyCount {
	return []admin.KeyCount{{Rule: "site", Key: key(1), Count: 1899, Limit: 1900}}[:min(top, 1)]
}

func key(i uint32) edgeguard.Key { return edgeguard.Key{Prefix: numbered(i)} }

// numbered returns the i-th address of 20.0.0.0/8.
func numbered(i uint32) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{20, byte(i >> 16), byte(i >> 8), byte(i)}), 32)
}

func (n *node) Stats() admin.Stats {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := n.list.Stats()
	n.stats.V4, n.stats.V6, n.stats.Allowances, n.stats.Time = s.V4, s.V6, s.Allowances, start
	return n.stats
}

func (n *node) FleetNodes(...watch.Span) []admin.FleetNode { return n.nodes }

func (n *node) FleetHeld(context.Context) (admin.FleetHeld, error) { return n.others, n.cutOff }

func (n *node) Reload(context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.reloads++
	return n.reload
}

func (n *node) audit(a admin.Audit) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.audits = append(n.audits, a)
}

// allAudits returns all audits, the oldest first.
func (n *node) allAudits() []admin.Audit {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.audits)
}

// lastAudit returns the newest audit without its time.
func (n *node) lastAudit() admin.Audit {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.audits) == 0 {
		return admin.Audit{}
	}
	a := n.audits[len(n.audits)-1]
	a.Time = time.Time{}
	return a
}

// mustBlock puts a block of an hour into the list.
func (n *node) mustBlock(t testing.TB, prefix, rule, origin string) {
	t.Helper()
	b := edgeguard.Block{Prefix: netip.MustParsePrefix(prefix), Rule: rule, Origin: origin, Since: start, Until: start.Add(time.Hour), Count: 1901, Limit: 1900}
	if _, _, err := n.list.Add(b, true, start); err != nil {
		t.Fatal(err)
	}
}

// served is a node that is served over TCP and over a unix socket.
type served struct {
	*node
	server *server.Server
	tcp    string // host:port
	unix   string // path
	stop   func() error
}

// serve runs a server until the test ends.
func serve(t testing.TB, n *node, c server.Config) *served {
	t.Helper()
	c.View, c.Operator, c.Audit = admin.NewView(n, n.events), n, n.audit
	if c.Metrics == nil {
		c.Metrics = metrics.New(n, n.events, nil)
	}
	serverHere, err := server.New(c)
	if err != nil {
		t.Fatal(err)
	}
	s := &served{node: n, server: serverHere, unix: filepath.Join(t.TempDir(), "admin.sock")}
	var listeners []net.Listener
	for _, address := range []string{"127.0.0.1:0", "unix:" + s.unix} {
		network := "tcp"
		if path, ok := strings.CutPrefix(address, "unix:"); ok {
			network, address = "unix", path
		}
		l, err := net.Listen(network, address)
		if err != nil {
			t.Fatal(err)
		}
		listeners = append(listeners, l)
	}
	s.tcp = listeners[0].Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- serverHere.Serve(ctx, listeners...) }()
	s.stop = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// overUnix returns a client over the unix socket.
func (s *served) overUnix(t testing.TB) *client.Client { return dial(t, "unix:"+s.unix, "") }

func dial(t testing.TB, address, tokenFile string) *client.Client {
	t.Helper()
	c, err := client.New(client.Config{Address: address, TokenFile: tokenFile})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// request is one raw request.
type request struct {
	method, path, body string
	header             map[string]string
	host               string
	unix               bool
}

// ask sends a raw request and gives status and body.
func (s *served) ask(t testing.TB, r request) (int, []byte) {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		if r.unix {
			return new(net.Dialer).DialContext(ctx, "unix", s.unix)
		}
		return new(net.Dialer).DialContext(ctx, "tcp", s.tcp)
	}}
	request, err := http.NewRequest(r.method, "http://"+s.tcp+r.path, bytes.NewBufferString(r.body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range r.header {
		request.Header.Set(name, value)
	}
	if r.host != "" {
		request.Host = r.host
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, body
}

// write sends a change over the unix socket.
func (s *served) write(t testing.TB, method, path, body string) (int, call.Problem) {
	t.Helper()
	status, answer := s.ask(t, request{method: method, path: path, body: body, unix: true, header: map[string]string{"Content-Type": "application/json"}})
	var p call.Problem
	if status >= 400 {
		if err := json.Unmarshal(answer, &p); err != nil {
			t.Fatalf("%s %s: %d %s: %v", method, path, status, answer, err)
		}
		if p.Status != status || p.Detail == "" || p.Title == "" {
			t.Errorf("%s %s: %d with an incomplete problem: %s", method, path, status, answer)
		}
	}
	return status, p
}

// asProblem returns the problem that an error is.
func asProblem(t testing.TB, err error) *call.Problem {
	t.Helper()
	var p *call.Problem
	if !errors.As(err, &p) {
		t.Fatalf("got %v, want a problem", err)
	}
	return p
}

func collect(t testing.TB, blocks iter.Seq2[admin.ActiveBlock, error]) (prefixes []string) {
	t.Helper()
	for b, err := range blocks {
		if err != nil {
			t.Fatal(err)
		}
		prefixes = append(prefixes, b.Prefix.String())
	}
	return prefixes
}
