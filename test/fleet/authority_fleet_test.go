package fleet

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"edgeguard/admin/client"
	"edgeguard/aggregator"
	"edgeguard/aggregator/redis"
	"edgeguard/internal/program"
	"edgeguard/internal/redistest"
	"edgeguard/rules"
)

// keyMode is whether the nodes of a fleet have a key, and what they do with it.
type keyMode string

const (
	noKey   keyMode = "no key"
	accept  keyMode = "accept"
	require keyMode = "require"
)

// line is the mode's part of the fleet's config.
func (m keyMode) line() string {
	if m == noKey {
		return ""
	}
	return fmt.Sprintf("key_file: $DIR/fleet.key, key_mode: %s, ", m)
}

// The rule of every guarded fleet, and the fingerprint of its meter.
var (
	guardedRule  = rules.Spec{Name: "site", Threshold: guardedLimit, Guard: "1", Window: 5 * time.Minute, BlockFor: time.Hour}
	guardedMeter = sync.OnceValue(func() uint64 {
		set, _ := rules.Compile([]rules.Spec{guardedRule})
		meter, _ := strconv.ParseUint(set.Meters[0].Fingerprint, 16, 64)
		return meter
	})
)

// guardedSecret is the key of every guarded fleet that has one.
var guardedSecret = strings.Repeat("5a", 32)

const (
	guardedLimit = 40
	guardedNodes = 2
	guardedSlot  = 5 // seconds
	guardedCrowd = 3000
)

// guarded is a fleet of real programs that reach Redis as the user that `edgeguard
// fleet acl` prints.
type guarded struct {
	t      *testing.T
	mode   keyMode
	server *redistest.Server
	redis  *goredis.Client // the test's own, of the default user
	rules  string          // of all nodes, in YAML
	nodes  []*guardedNode
}

// guardedNode is one of them.
type guardedNode struct {
	*program.Process
	g     *guarded
	name  string
	admin *client.Client
	http  *http.Client
}

// startGuarded runs a fleet whose nodes have seen a crowd, of which no client is near
// the limit.
func startGuarded(t *testing.T, mode keyMode) *guarded {
	t.Helper()
	return startGuardedWith(t, mode, "", (*guardedNode).crowd)
}

// startGuardedWith is startGuarded with further settings of the fleet, and another crowd.
func startGuardedWith(t *testing.T, mode keyMode, extra string, crowd func(*guardedNode)) *guarded {
	t.Helper()
	g := newGuarded(t)
	g.mode = mode
	g.launch(guardedNodes, extra, crowd)
	return g
}

// launch starts so many nodes, each of which then sees a crowd.
func (g *guarded) launch(nodes int, extra string, crowd func(*guardedNode)) {
	g.t.Helper()
	if _, err := redis.Install(background, g.redis); err != nil {
		g.t.Fatal(err)
	}
	for i := range nodes {
		g.nodes = append(g.nodes, g.newNode(fmt.Sprintf("edge-%d", i+1), g.mode, extra))
	}
	for _, n := range g.nodes {
		n.Launch()
	}
	for _, n := range g.nodes {
		n.joined()
		crowd(n)
	}
}

// newGuarded returns a fleet without nodes, whose Redis has no library.
func newGuarded(t *testing.T) *guarded {
	t.Helper()
	g := &guarded{t: t, rules: fmt.Sprintf("\n  - {name: %s, threshold: %d, guard: 1, window: 5m, block_for: 1h}", guardedRule.Name, guardedLimit), server: redistest.Start(t, redistest.Options{Password: "operator", Users: []string{
		userLine(redis.ACLLine("edge", namespace), "node"),
	}})}
	g.redis = g.server.Client()
	return g
}

// newNode returns a node that is not running. extra are further settings of its fleet.
func (g *guarded) newNode(name string, mode keyMode, extra string) *guardedNode {
	g.t.Helper()
	n := &guardedNode{g: g, name: name, Process: program.NewNode(g.t, fmt.Sprintf(`
node: %s
state: $DIR/state
protected: ["%s"]
listen: {auth: ["unix:$DIR/auth.sock"], admin: ["unix:$DIR/admin.sock"]}
rules:%s
fleet: {redis: "redis://edge@%s", password_file: $DIR/redis.pass, %s%snamespace: %s, partitions: %d, push: 100ms, max_nodes: %d}
`, name, protected, g.rules, g.server.Addr, mode.line(), extra, namespace, partitions, guardedNodes))}
	write(g.t, n.Path("redis.pass"), "node\n")
	if mode != noKey {
		write(g.t, n.Path("fleet.key"), guardedSecret+"\n")
	}
	var err error
	if n.admin, err = client.New(client.Config{Address: "unix:" + n.Path("admin.sock")}); err != nil {
		g.t.Fatal(err)
	}
	n.http = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", n.Path("admin.sock"))
	}}}
	g.t.Cleanup(func() { n.admin.Close(); n.http.CloseIdleConnections() })
	return n
}

// joined waits until the node is up and in the fleet.
func (n *guardedNode) joined() {
	n.g.t.Helper()
	n.Until(n.name+" is in the fleet", func() bool {
		s, err := n.admin.Status(background)
		return err == nil && s.Ready && s.Fleet != nil && s.Fleet.Up && s.Fleet.Joins > 0 && s.Fleet.Syncs > 0
	})
}

// crowd has the node see one request of each of many clients.
func (n *guardedNode) crowd() {
	n.g.t.Helper()
	a := n.open()
	defer a.conn.Close()
	if refused, err := a.crowd(guardedCrowd); refused > 0 || err != nil {
		n.g.t.Fatalf("%s: %d refused, %v", n.name, refused, err)
	}
}

func (n *guardedNode) open() *asker {
	n.g.t.Helper()
	conn, err := net.Dial("unix", n.Path("auth.sock"))
	if err != nil {
		n.g.t.Fatal(err)
	}
	return &asker{conn: conn, answers: bufio.NewReader(conn)}
}

// sends has a client ask so many times, and returns how many requests were refused.
func (n *guardedNode) sends(client netip.Addr, times int) (refused int) {
	n.g.t.Helper()
	a := n.open()
	defer a.conn.Close()
	for range times {
		no, err := a.refused(client.String())
		if err != nil {
			n.g.t.Fatalf("%s: %v", n.name, err)
		}
		if no {
			refused++
		}
	}
	return refused
}

// spreads sends a client's requests to all nodes: more than the limit together, fewer
// on each. A node may refuse those that are over the limit of all together: it may
// know by then what the others counted.
func (g *guarded) spreads(client netip.Addr) {
	g.t.Helper()
	const each = guardedLimit * 3 / 4
	for i, n := range g.nodes {
		if got, over := n.sends(client, each), max(0, (i+1)*each-guardedLimit); got > over {
			g.t.Errorf("%s refused %d requests, and %d were over the limit", n.name, got, over)
		}
	}
}

// caught waits until every node refuses a client.
func (g *guarded) caught(client netip.Addr) {
	g.t.Helper()
	for _, n := range g.nodes {
		n.Until(fmt.Sprintf("%s refuses %s", n.name, client), func() bool { return n.blocks(netip.PrefixFrom(client, client.BitLen())) })
	}
}

// listed returns what is in force on the node: blocks and allowances.
func (n *guardedNode) listed() (blocks, allowances []netip.Prefix) {
	n.g.t.Helper()
	for b, err := range n.admin.Blocks(background, client.Filter{}) {
		if err != nil {
			n.g.t.Fatal(err)
		}
		blocks = append(blocks, b.Prefix)
	}
	all, err := n.admin.Allowances(background)
	if err != nil {
		n.g.t.Fatal(err)
	}
	for _, a := range all {
		allowances = append(allowances, a.Prefix)
	}
	return blocks, allowances
}

// blocks reports whether exactly this prefix is blocked on the node.
func (n *guardedNode) blocks(p netip.Prefix) bool {
	n.g.t.Helper()
	for b, err := range n.admin.Blocks(background, client.Filter{Prefix: p.String()}) {
		if err == nil && b.Prefix == p {
			return true
		}
	}
	return false
}

// alarms returns how often the node raised each kind of alarm.
func (n *guardedNode) alarms() map[string]int {
	n.g.t.Helper()
	answer, err := n.http.Get("http://node/metrics")
	if err != nil {
		n.g.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		n.g.t.Fatal(err)
	}
	out := map[string]int{}
	for line := range strings.SplitSeq(string(text), "\n") {
		if kind, is := strings.CutPrefix(line, `edgeguard_alarms_total{kind="`); is {
			kind, count, _ := strings.Cut(kind, `"} `)
			out[kind], _ = strconv.Atoi(count)
		}
	}
	return out
}

// alarmed waits until every node has raised an alarm of one of the kinds.
func (g *guarded) alarmed(kinds ...string) {
	g.t.Helper()
	for _, n := range g.nodes {
		n.Until(fmt.Sprintf("%s alarms: %s", n.name, strings.Join(kinds, " or ")), func() bool {
			all := n.alarms()
			for _, kind := range kinds {
				if all[kind] > 0 {
					return true
				}
			}
			return false
		})
	}
}

// beats returns the nodes' own heartbeats, as they are stored in Redis.
func (g *guarded) beats() map[string]aggregator.Heartbeat {
	g.t.Helper()
	out := map[string]aggregator.Heartbeat{}
	for field, value := range g.redis.HGetAll(background, blocksKey("nodes")).Val() {
		_, text, _ := strings.Cut(value, " ")
		var b aggregator.Heartbeat
		if json.Unmarshal([]byte(text), &b) == nil && b.Field() == field {
			if known, ok := out[b.Node]; !ok || known.Started.Before(b.Started) {
				out[b.Node] = b
			}
		}
	}
	return out
}

// read waits until every node has read the list in Redis as it is now, and has then
// sent two more heartbeats: whatever was written before has had its effect.
func (g *guarded) read() {
	g.t.Helper()
	version, _ := g.redis.HGet(background, blocksKey("state"), "version").Int64()
	for _, n := range g.nodes {
		n.Until(fmt.Sprintf("%s has read version %d", n.name, version), func() bool { return g.beats()[n.name].Changes >= version })
		for range 2 {
			last := g.beats()[n.name].At
			n.Until(n.name+" sends a heartbeat", func() bool { return g.beats()[n.name].At.After(last) })
		}
	}
}

// twice checks something after the nodes have read the list, and again after one of
// them has joined without its state: it knows what Redis tells it, and no more.
func (g *guarded) twice(check func(when string)) {
	g.t.Helper()
	g.read()
	check("after the attack")
	last := g.nodes[len(g.nodes)-1]
	last.Stop()
	if err := os.RemoveAll(last.Path("state")); err != nil {
		g.t.Fatal(err)
	}
	last.Launch()
	last.joined()
	g.read()
	check("after a start without state")
}

// keysOf returns the keys in Redis of a client's counts: its partition's clock, and the
// suspect.
func keysOf(client netip.Addr) (clock, suspect string) {
	key := aggregator.Key{Meter: guardedMeter(), Prefix: netip.PrefixFrom(client, client.BitLen())}
	partition := key.Partition(partitions)
	return clockKey(partition), fmt.Sprintf("eg:{%s/%d}:k:%s", namespace, partition, key.Append(nil))
}
