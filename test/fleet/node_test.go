package fleet

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/aggregator"
	"edgeguard/aggregator/member"
	"edgeguard/aggregator/quarantine"
	"edgeguard/aggregator/redis"
	"edgeguard/blocklist"
	"edgeguard/detector"
	"edgeguard/internal/redistest"
	"edgeguard/rules"
	"edgeguard/shard"
)

// node is one node of a fleet under test, wired as package node does it.
type node struct {
	fleet *fleet
	name  string
	boot  string
	id    [8]byte
	proxy *redistest.Proxy // its way to Redis; nil where Redis is more than one server
	// ahead is how far its local time is ahead of the machine's clock, and offset
	// what it adds to that to get the epoch's, both in ns.
	ahead, offset atomic.Int64

	list       *blocklist.List
	quarantine *quarantine.Quarantine
	detector   *detector.Detector
	counts     *aggregator.Totals
	member     *member.Member
	link       *redis.Link
	model      model

	mu      sync.Mutex                 // guards the fields below
	alarms  map[string]string          // by kind and about: the text
	beats   []aggregator.Heartbeat     // of the last meeting
	skew    bool                       // Redis' clock is trusted
	changed map[netip.Prefix]time.Time // when the list last did
	first   map[netip.Prefix]time.Time // when the list first did

	stop func()
}

// newNode returns a node and starts nothing.
func newNode(f *fleet, i int, c redis.Config) *node {
	n := &node{
		fleet: f, name: fmt.Sprintf("edge-%d", i+1), boot: fmt.Sprintf("%016x", f.boots.Add(1)),
		list:   blocklist.New(blocklist.Config{Protected: []netip.Prefix{protected}, Retention: f.Window}),
		alarms: map[string]string{}, changed: map[netip.Prefix]time.Time{}, first: map[netip.Prefix]time.Time{}, skew: true,
	}
	if f.Ahead != nil {
		n.ahead.Store(int64(f.Ahead(i)))
	}
	c.Node, c.Boot, c.Namespace, c.Retention = n.name, n.boot, namespace, f.Window
	c.Partitions, c.Timeout = partitions, f.Timeout
	if f.Key {
		c.KeyFile = keyFile(f.t)
		n.list.SetSigns(true)
	}
	if f.Way != nil {
		f.Way(i, &c)
	}
	n.quarantine = quarantine.New(n.list, func(b edgeguard.Block) { n.link.PushCountsOf(b) })
	n.id = aggregator.NodeID(n.name, n.boot)
	n.wire(f)
	var err error
	if n.link, err = redis.New(c, peer{n}); err != nil {
		f.t.Fatal(err)
	}
	n.list.OnChange(func(b edgeguard.Block) {
		n.mu.Lock()
		n.changed[b.Prefix] = time.Now()
		if _, again := n.first[b.Prefix]; !again {
			n.first[b.Prefix] = n.changed[b.Prefix]
		}
		n.mu.Unlock()
		n.quarantine.Changed(time.Now(), b)
		n.link.Changed(b, n.list.Trust(b.Prefix))
	})
	return n
}

// wire makes the detector and connects it to the fleet.
func (n *node) wire(f *fleet) {
	set, problems := rules.Compile([]rules.Spec{{
		Name: ruleName, Threshold: f.Limit, Guard: "1", Window: f.Window, BlockFor: time.Hour,
	}})
	if problems != nil {
		f.t.Fatal(problems)
	}
	n.member = member.New(
		detector.Config{Rules: set, Memory: shard.NewMemory(64 << 20), List: n.list, Node: n.name, Seed: rand.Uint64()},
		aggregator.Config{Boot: n.now(), Quiet: f.Quiet, MaxNodes: f.MaxNodes, Nodes: 1},
	)
	n.detector, n.counts = n.member.Detector, n.member.Totals
	f.meter, _ = strconv.ParseUint(set.Meters[0].Fingerprint, 16, 64)
}

// now returns the time by the node's clock.
func (n *node) now() time.Time { return time.Now().Add(time.Duration(n.ahead.Load())) }

func (n *node) epoch(local time.Time) time.Time { return local.Add(time.Duration(n.offset.Load())) }

func (n *node) local(epoch time.Time) time.Time { return epoch.Add(-time.Duration(n.offset.Load())) }

// peer is the node as its link sees it. It passes the fleet's named fail
// points.
type peer struct{ *node }

var _ redis.Peer = peer{}

func (p peer) Counts() *aggregator.Totals {
	p.fleet.pass(beforePush)
	return p.counts
}

func (p peer) Width(meter uint64) uint32         { return p.member.Width(meter) }
func (p peer) Now() time.Time                    { return p.now() }
func (p peer) Epoch(local time.Time) time.Time   { return p.epoch(local) }
func (p peer) Local(epoch time.Time) time.Time   { return p.local(epoch) }
func (p peer) Rebooted(string) bool              { return false }
func (p peer) Own() []netip.Addr                 { return nil }
func (p peer) RulesDigest() string               { return "" }
func (p peer) Waits(n int) (int, []netip.Prefix) { return p.quarantine.Waits(n) }
func (p peer) Cleared(b edgeguard.Block)         { p.member.Clear(p.now(), b.Prefix) }

func (p peer) Over(k aggregator.Key, peak uint32, split []aggregator.NodeCount) {
	p.fleet.pass(beforeBlock)
	if held, ok := p.Held(k.Prefix); ok && held == k {
		p.quarantine.Release(p.now(), k.Prefix)
	}
	p.member.ApplyFleetCount(p.now(), k, peak, split)
	if p.member.Blocked(p.now(), k) {
		p.quarantine.Found(p.now(), k.Prefix)
	}
}

func (p peer) Weighs(k aggregator.Key) bool {
	_, held := p.quarantine.HeldBlock(k.Prefix)
	return held || p.quarantine.ChargedShare(k.Prefix) > 0
}
func (p peer) Settled(k aggregator.Key, peak uint32) bool {
	return p.member.Settled(p.now(), k, peak) && p.quarantine.ChargedShare(k.Prefix) == 0
}

func (p peer) Merge(b edgeguard.Block, t blocklist.Trust) (bool, error) {
	p.fleet.pass(beforeApply)
	defer p.fleet.pass(afterApply)
	return p.quarantine.Admit(p.now(), p.detector, b, t)
}

func (p peer) Held(prefix netip.Prefix) (key aggregator.Key, held bool) {
	b, held := p.quarantine.HeldBlock(prefix)
	if !held {
		return key, false
	}
	return p.member.KeyOfBlock(b.Rule, b.Prefix)
}

func (p peer) Block(prefix netip.Prefix) (_ edgeguard.Block, t blocklist.Trust, ok bool) {
	if b := p.list.BlockOf(p.now(), prefix); b != nil {
		return *b, p.list.Trust(prefix), true
	}
	return edgeguard.Block{}, t, false
}

func (p peer) Refused(prefix netip.Prefix) (events uint32, ok bool) {
	events, _, ok = p.list.Refusals(prefix)
	return events, ok
}

func (p peer) Slack(edgeguard.Block) time.Duration { return 0 }

func (p peer) Records() iter.Seq2[edgeguard.Block, blocklist.Trust] { return p.list.Records() }

func (p peer) Unsplit(edgeguard.Block) (aggregator.Key, uint32, bool) {
	return aggregator.Key{}, 0, false
}

func (p peer) Crowded(edgeguard.Block, blocklist.Trust) bool                      { return false }
func (p peer) Reword(b edgeguard.Block, _ []aggregator.NodeCount) edgeguard.Block { return b }

func (p peer) Fleet(beats []aggregator.Heartbeat) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.beats = slices.Clone(beats)
}

func (p peer) Skew(_ time.Duration, trusted bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.skew = trusted
}

func (p peer) Alarm(kind, about, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.alarms[kind+" "+about] = text
}

func (p peer) Calm(kind, about string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.alarms, kind+" "+about)
}

func (n *node) merge(b edgeguard.Block, forced bool) (changed bool, err error) {
	if forced {
		return n.list.Force(b, n.now())
	}
	return n.list.Merge(b, n.now())
}

// start joins the fleet.
func (n *node) start() {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { n.link.Run(ctx) })
	n.stop = sync.OnceFunc(func() { cancel(); running.Wait() })
}

// see counts one event of each of the keys, now.
func (n *node) see(keys []int) {
	now := n.now()
	var seen []int
	for _, k := range keys {
		event := edgeguard.Event{Time: now, Addr: address(k), Kind: edgeguard.KindRequest, Verified: edgeguard.KindRequest}
		n.detector.Decide(now, &event)
		seen = append(seen, k)
	}
	n.model.add(n.fleet.slot(n.epoch(now)), seen, n.fleet.Clients+n.fleet.Strangers)
}

// alarm returns the text of an active alarm, "" if there is none.
func (n *node) alarm(kind, about string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.alarms[kind+" "+about]
}

// blocked returns the prefixes that the node refuses.
func (n *node) blocked() map[netip.Prefix]edgeguard.Block {
	out := map[netip.Prefix]edgeguard.Block{}
	for b := range n.list.All(n.now()) {
		out[b.Prefix] = b
	}
	return out
}

// held returns what is in force in the node's list: blocks and allowances,
// which are never of one prefix.
func (n *node) held() map[netip.Prefix]edgeguard.Block {
	out := n.blocked()
	for b := range n.list.Allowances(n.now()) {
		out[b.Prefix] = b
	}
	return out
}

// refuses reports whether the node blocks an address.
func (n *node) refuses(addr netip.Addr) bool {
	standing, _ := n.list.Find(n.now(), addr)
	return standing == blocklist.Blocked
}

// keyFile returns a file with the fleet key of the tests.
func keyFile(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fleet.key")
	if err := os.WriteFile(path, []byte(aggregator.NewSigningKey([32]byte{1})+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
