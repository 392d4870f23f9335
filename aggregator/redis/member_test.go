package redis

import (
	"context"
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"edgeguard"
	"edgeguard/aggregator"
	"edgeguard/aggregator/fleet"
	"edgeguard/blocklist"
	"edgeguard/clockguard"
	"edgeguard/internal/program"
	"edgeguard/internal/redistest"
	"edgeguard/internal/words"
	"edgeguard/shard"
)

func TestMain(m *testing.M) {
	program.Parallel(8)
	goleak.VerifyTestMain(m)
}

const (
	testMeter = 0x1122334455667788
	testWidth = 5
	testLimit = 100
	secret    = "correct-horse"
)

// startRedis starts a server with the library that admits nodes only as the
// user of the ACL line in the documentation.
func startRedis(t testing.TB, o redistest.Options) *redistest.Server {
	t.Helper()
	o.Users = append(o.Users, userLine(ACLLine("edge", "test")))
	s := redistest.Start(t, o)
	install(t, s)
	return s
}

// userLine turns a line for redis-cli into one of an ACL file.
func userLine(line string) string {
	return strings.Replace(strings.Replace(line, "ACL SETUSER", "user", 1), "PASSWORD", secret, 1)
}

func install(t testing.TB, s *redistest.Server) {
	t.Helper()
	if _, err := Install(context.Background(), s.Client()); err != nil {
		t.Fatal(err)
	}
}

// testConfig is a node's. It waits long for an answer: a busy machine is no fault.
func testConfig(addr, name string) Config {
	return Config{
		Addresses: []string{addr}, User: "edge", Password: secret, Namespace: "test", Partitions: 4,
		Push: 50 * time.Millisecond, Timeout: 10 * time.Second, Node: name, Version: "test",
	}
}

// member is a node as far as the link sees one: a table, its totals, a list of
// blocks, and the rule "block what the fleet counts over the limit".
type member struct {
	name   string
	config Config
	// What a test may replace.
	epoch, local func(time.Time) time.Time
	met          func([]aggregator.Heartbeat)
	skew         func(time.Duration, bool)
	reboot       func(string) bool
	waits        map[netip.Prefix]bool // the blocks that it holds
	keeps        string                // the rule whose blocks stay here, as in the version before
	extends      time.Duration         // the window of the rule whose blocks are extended
	pace         int                   // blocks of rules published a second; 0: as of every node
	link         *Link
	table        *shard.Table
	counts       *aggregator.Totals
	list         *blocklist.List

	mu     sync.Mutex        // guards the fields below
	alarms map[string]string // kind/about → text
	raised map[string]int
	over   map[aggregator.Key]uint32

	end  context.CancelFunc
	done chan struct{}
}

func newMember(t testing.TB, c Config) *member {
	t.Helper()
	m := &member{
		name: c.Node, config: c, list: blocklist.New(blocklist.Config{}),
		table:  shard.New(shard.NewMemory(16<<20), shard.Config{Seed: 1}),
		alarms: map[string]string{}, raised: map[string]int{}, over: map[aggregator.Key]uint32{},
	}
	m.counts = aggregator.New(aggregator.Config{
		Meters: []aggregator.Meter{{Fingerprint: testMeter, Width: testWidth, Limit: testLimit, Table: m.table}},
		Boot:   time.Now().Add(-5 * time.Minute), Nodes: 1,
	})
	m.list.SetSigns(c.KeyFile != "")
	m.reboot = func(string) bool { return false }
	same := func(t time.Time) time.Time { return t }
	m.epoch, m.local, m.met, m.skew = same, same, func([]aggregator.Heartbeat) {}, func(time.Duration, bool) {}
	return m
}

// testPeer is a member as its link sees it.
type testPeer struct{ *member }

func (p testPeer) Counts() *aggregator.Totals { return p.member.counts }
func (p testPeer) Width(meter uint64) uint32 {
	if meter == testMeter {
		return testWidth
	}
	return 0
}
func (p testPeer) Now() time.Time              { return time.Now() }
func (p testPeer) Epoch(t time.Time) time.Time { return p.epoch(t) }
func (p testPeer) Local(t time.Time) time.Time { return p.local(t) }
func (p testPeer) Over(k aggregator.Key, peak uint32, split []aggregator.NodeCount) {
	p.block(k, peak, aggregator.SplitReason(split, words.Measure{}))
}
func (p testPeer) Weighs(aggregator.Key) bool                               { return false }
func (p testPeer) Settled(aggregator.Key, uint32) bool                      { return false }
func (p testPeer) Merge(b edgeguard.Block, t blocklist.Trust) (bool, error) { return p.merge(b, t) }
func (p testPeer) Records() iter.Seq2[edgeguard.Block, blocklist.Trust] {
	return func(yield func(edgeguard.Block, blocklist.Trust) bool) {
		for b, t := range p.list.Records() {
			if !p.keepsHere(&b) && !yield(b, t) {
				return
			}
		}
	}
}
func (p testPeer) Block(prefix netip.Prefix) (_ edgeguard.Block, t blocklist.Trust, ok bool) {
	if b := p.list.BlockOf(time.Now(), prefix); b != nil && !p.keepsHere(b) {
		return *b, p.list.Trust(prefix), true
	}
	return edgeguard.Block{}, t, false
}

func (p testPeer) Refused(prefix netip.Prefix) (events uint32, ok bool) {
	events, _, ok = p.list.Refusals(prefix)
	return events, ok
}

func (p testPeer) Slack(b edgeguard.Block) time.Duration {
	return fleet.ExtensionSlack(&b, p.name, p.extends)
}

func (p testPeer) Cleared(b edgeguard.Block) {
	p.counts.Cleared(b.Prefix, time.Now())
	p.table.Clear(b.Prefix.Addr(), "")
}

func (p testPeer) Held(prefix netip.Prefix) (aggregator.Key, bool) {
	return aggregator.Key{Meter: testMeter, Prefix: prefix}, p.waits[prefix]
}
func (p testPeer) Unsplit(edgeguard.Block) (aggregator.Key, uint32, bool) {
	return aggregator.Key{}, 0, false
}
func (p testPeer) Crowded(b edgeguard.Block, t blocklist.Trust) bool {
	c := fleet.Change{Block: b, Trust: t}
	return c.ByRule() && p.list.Crowded(b.Prefix)
}
func (p testPeer) Reword(b edgeguard.Block, _ []aggregator.NodeCount) edgeguard.Block { return b }
func (p testPeer) Rebooted(boot string) bool                                          { return p.reboot(boot) }
func (p testPeer) RulesDigest() string                                                { return "" }
func (p testPeer) Own() []netip.Addr                                                  { return nil }
func (p testPeer) Waits(int) (int, []netip.Prefix)                                    { return 0, nil }
func (p testPeer) Fleet(b []aggregator.Heartbeat)                                     { p.met(b) }
func (p testPeer) Skew(d time.Duration, ok bool)                                      { p.skew(d, ok) }
func (p testPeer) Alarm(kind, about, text string)                                     { p.alarm(kind, about, text) }
func (p testPeer) Calm(kind, about string)                                            { p.calm(kind, about) }

// start runs a member's link until the test or stop ends it.
func (m *member) start(t testing.TB) *member {
	t.Helper()
	link, err := New(m.config, testPeer{m})
	if err != nil {
		t.Fatal(err)
	}
	m.link = link
	link.asks.draw = func() float64 { return 0 } // answers wait for nothing
	if m.pace > 0 {
		link.publisher.outbox = fleet.NewPacedQueue(m.pace, testPeer{m}.Refused)
	}
	m.list.OnChange(func(b edgeguard.Block) {
		if !m.keepsHere(&b) {
			link.Changed(b, m.list.Trust(b.Prefix))
		}
	})
	ctx, end := context.WithCancel(context.Background())
	m.done = make(chan struct{})
	m.end = end
	go func() { defer close(m.done); link.Run(ctx) }()
	t.Cleanup(m.stop)
	return m
}

func (m *member) stop() {
	m.end()
	<-m.done
}

// join starts members a, b, c … and waits until all are in the fleet.
func join(t testing.TB, addr string, n int, change func(*Config)) []*member {
	t.Helper()
	var all []*member
	for i := range n {
		c := testConfig(addr, fmt.Sprintf("edge-%c", 'a'+i))
		if change != nil {
			change(&c)
		}
		all = append(all, newMember(t, c).start(t))
	}
	for _, m := range all {
		m.eventually(t, "the fleet", func() bool { s := m.link.Stats(); return s.Up && s.Rounds > 0 })
	}
	return all
}

func (m *member) eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	defer func() {
		if t.Failed() {
			t.Logf("%s: %+v", m.name, m.link.Stats())
		}
	}()
	program.Eventually(t, m.name+": "+what, done)
}

// keepsHere reports whether the member keeps a record from the others.
func (m *member) keepsHere(b *edgeguard.Block) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.keeps != "" && b.Rule == m.keeps
}

// see counts n requests of an address.
func (m *member) see(addr string, n int) { m.seeAt(addr, n, time.Now()) }

func (m *member) seeAt(addr string, n int, at time.Time) {
	for range n {
		op := shard.Op{
			Addr: netip.MustParseAddr(addr), Cost: 1,
			Now: clockguard.Slot(time.Now(), testWidth), Slot: clockguard.Slot(at, testWidth),
		}
		m.counts.Count(0, &op, m.table.Add(&op).Count)
	}
}

func (m *member) block(key aggregator.Key, peak uint32, reason string) {
	m.mu.Lock()
	m.over[key] = max(peak, m.over[key])
	m.mu.Unlock()
	now := time.Now()
	if _, b := m.list.Find(now, key.Prefix.Addr()); b != nil {
		return
	}
	m.list.Merge(edgeguard.Block{
		Prefix: key.Prefix, Rule: "site", Reason: reason, Origin: m.name, Count: peak, Limit: testLimit,
		Since: now, Until: now.Add(10 * time.Minute), Version: m.list.Version(key.Prefix) + 1,
	}, now)
}

func (m *member) merge(b edgeguard.Block, t blocklist.Trust) (bool, error) {
	return m.list.Agree(b, t, time.Now())
}

func (m *member) blocked(addr string) *edgeguard.Block {
	standing, b := m.list.Find(time.Now(), netip.MustParseAddr(addr))
	if standing != blocklist.Blocked {
		return nil
	}
	return b
}

func (m *member) alarm(kind, about, text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.alarms[kind+"/"+about] = text
	m.raised[kind+"/"+about]++
}

func (m *member) calm(kind, about string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.alarms, kind+"/"+about)
}

func (m *member) alarmed(name string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.alarms[name]
}

func key(addr string) aggregator.Key {
	a := netip.MustParseAddr(addr)
	return aggregator.Key{Meter: testMeter, Prefix: netip.PrefixFrom(a, a.BitLen())}
}

// held returns what Redis has of an address, over all nodes.
func held(t testing.TB, s *redistest.Server, addr string) (total int) {
	t.Helper()
	c := testConfig(s.Addr, "asker")
	n := newNames(c.Namespace, c.Partitions)
	k := key(addr)
	name := n.counts[k.Partition(c.Partitions)] + string(k.Append(nil))
	answer, err := s.Client().FCallRO(context.Background(), function("split"), []string{name}, time.Now().Unix()/testWidth).Slice()
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i < len(answer); i += 2 {
		count, _ := answer[i].(int64)
		total += int(count)
	}
	return total
}

// records are a member's blocks in a form that can be compared.
func (m *member) records() []string {
	var out []string
	for b := range m.list.All(time.Now()) {
		out = append(out, fmt.Sprint(b.Prefix, b.Version, b.Until.UnixNano(), b.Origin))
	}
	slices.Sort(out)
	return out
}

func aggregatorRecord(b edgeguard.Block) aggregator.Record {
	return aggregator.Record{Block: b, Retention: 5 * time.Minute}
}
