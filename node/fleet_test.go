package node

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/admin/client"
	"edgeguard/aggregator/redis"
	"edgeguard/internal/redistest"
	"edgeguard/node/alarm"
)

// fleetOfTwo is what each of the two nodes of a test goes by; one rule's limit
// is for both together, the other's for each.
const fleetOfTwo = `
node: $NAME
state: $DIR/state
listen: {admin: ["unix:$DIR/admin.sock"], auth: ["unix:$DIR/auth.sock"]}
fleet: {redis: "redis://$REDIS", namespace: test, push: 50ms}
rules:
  - {name: site, threshold: 20, guard: 1, window: 1m}
  - {name: own, threshold: 5, guard: 1, window: 1m, scope: node, escalate: [1h], match: {host: [own.example]}}
`

// startFleet runs the nodes a and b on one Redis until the test ends, and
// returns when both are joined and know of each other, and count what they tell:
// the slot in which a node with a state began is its own.
func startFleet(t *testing.T, server *redistest.Server) (a, b *underTest) {
	t.Helper()
	return startFleetOf(t, server, fleetOfTwo, fleetOfTwo)
}

// startFleetOf is startFleet of two configs.
func startFleetOf(t *testing.T, server *redistest.Server, first, second string) (a, b *underTest) {
	t.Helper()
	if _, err := redis.Install(t.Context(), server.Client()); err != nil {
		t.Fatal(err)
	}
	start := func(name, yaml string) *underTest {
		return newNode(t, shortDir(t), strings.NewReplacer("$NAME", name, "$REDIS", server.Addr).Replace(yaml)).start()
	}
	a, b = start("edge-a", first), start("edge-b", second)
	for _, u := range []*underTest{a, b} {
		u.eventually("it is joined", func() bool { f := u.fleet(); return f.Up && f.Rounds > 0 && f.Alive == 2 })
		u.eventually("its first slot is over", func() bool { return u.clock.Now().Unix() > u.lifecycle.begun.Unix() })
	}
	return a, b
}

// pass waits until each node has pushed as many rounds more.
func pass(rounds uint64, nodes ...*underTest) {
	for _, u := range nodes {
		u.t.Helper()
		from := u.fleet().Rounds
		u.eventually("rounds of pushes went by", func() bool { return u.fleet().Rounds >= from+rounds })
	}
}

// fleet returns the node's figures of its fleet.
func (u *underTest) fleet() *admin.Fleet { return u.view().Stats().Fleet }

// standing returns the block of an address.
func (u *underTest) standing(addr string) *edgeguard.Block {
	_, block := u.list.Find(u.clock.Now(), netip.MustParseAddr(addr))
	return block
}

// askReady asks the node's admin as a balancer would.
func (u *underTest) askReady() (status int, body string) {
	u.t.Helper()
	return u.get("/readyz")
}

// get asks the node's admin, over its socket.
func (u *underTest) get(path string) (status int, body string) {
	u.t.Helper()
	desk := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(u.folder, "admin.sock"))
	}}}
	answer, err := desk.Get("http://localhost" + path)
	if err != nil {
		u.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		u.t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// An address that stays under the limit on each of two nodes and passes it on
// both together is blocked on both, and the block says who saw how much; lifted
// on one, it is lifted on both and stays so. A block by a rule that counts on its node
// alone is in force on both, too.
func TestFleetOfTwo(t *testing.T) {
	t.Parallel()
	a, b := startFleet(t, redistest.Start(t, redistest.Options{}))
	const spread, owned, prefix = "203.0.113.9", "203.0.113.20", "203.0.113.9/32"
	for range 12 {
		a.request(spread)
		b.request(spread)
	}
	for _, u := range []*underTest{a, b} {
		u.eventually("the block says which node saw how much", func() bool {
			b := u.standing(spread)
			return b != nil && b.Rule == "site" && b.Count > 20 && strings.Contains(b.Reason, "edge-a ") && strings.Contains(b.Reason, "edge-b ")
		})
	}
	namesBoth(a, b, spread)
	for range 6 {
		now := a.clock.Now()
		event := requestOf(owned, now)
		event.Known, event.Host = edgeguard.FieldHost, "own.example"
		a.pipeline.Decide(now, &event)
	}
	if block := a.standing(owned); block == nil || block.Rule != "own" {
		t.Fatalf("the node's own rule: %+v", block)
	}

	if _, ok := b.view().Unblock(netip.MustParsePrefix(prefix), edgeguard.SiteFailed); !ok {
		t.Fatal("nothing was lifted")
	}
	a.eventually("the block is lifted", func() bool { return !a.blocked(spread) })
	a.request(spread)
	pass(10, a, b)
	if a.blocked(spread) || b.blocked(spread) {
		t.Error("the unblock does not stick")
	}
	if nodes := a.view().FleetNodes(); len(nodes) != 2 || !nodes[0].Alive || !nodes[1].Alive {
		t.Errorf("nodes: %+v", nodes)
	}
	b.eventually("the block by the other's own rule", func() bool { return b.blocked(owned) })
	b.eventually("it is a step of the rule here", func() bool {
		return b.pipeline.Current().Detector.Explain(b.clock.Now(), netip.MustParseAddr(owned)).Rules[1].Blocks == 1
	})
	for rule, want := range []string{"fleet", "node"} {
		if got := a.view().Explain(a.clock.Now(), netip.MustParseAddr(owned)).Rules[rule].Scope; got != want {
			t.Errorf("rule %d has scope %q, want %q", rule, got, want)
		}
		if got := a.view().Rules()[rule].Scope; got != want {
			t.Errorf("rule %d is listed with scope %q, want %q", rule, got, want)
		}
	}
	if f := a.fleet(); f.Pushed == 0 || f.Published+b.fleet().Published == 0 || f.Syncs == 0 || f.Within <= 0 {
		t.Errorf("figures: %+v", f)
	}
}

// A fleet whose Redis is killed serves on, says so, and is joined again.
func TestFleetWithoutRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{AOF: true}) // it keeps the library
	a, b := startFleet(t, server)
	joins := [2]uint64{a.fleet().Joins, b.fleet().Joins}
	server.Kill()
	for _, u := range []*underTest{a, b} {
		u.eventually("it is degraded", func() bool { return !u.fleet().Up })
		if f := u.fleet(); f.Trouble != "unreachable" || f.Fix == "" || f.Since.IsZero() {
			t.Errorf("the fault is not shown: %+v", f)
		} else if said := u.conditions(); strings.Count(said, f.Fix) > 1 {
			t.Errorf("one cause stands more than once:\n%s", said)
		}
		for i := range 21 {
			want := edgeguard.ActionPass
			if i == 20 {
				want = edgeguard.ActionDeny
			}
			if v := u.request("203.0.113.30"); v.Action != want {
				t.Fatalf("request %d while Redis is away: %+v", i, v)
			}
		}
		status, body := u.askReady()
		var said struct {
			Ready, Degraded bool
			Reason          string
		}
		if err := json.Unmarshal([]byte(body), &said); err != nil {
			t.Fatal(err)
		}
		if status != 200 || !said.Ready || !said.Degraded || said.Reason != "fleet: unreachable" || strings.Contains(body, server.Addr) {
			t.Errorf("ready while Redis is away: %d %s", status, body)
		}
	}
	server.Restart()
	for i, u := range []*underTest{a, b} {
		var s admin.Stats
		u.eventually("it is joined again", func() bool { s = u.view().Stats(); return s.Fleet.Up && s.Fleet.Joins > joins[i] })
		if slices.ContainsFunc(s.Alarms(), func(a admin.Alarm) bool { return a.Kind == alarm.Fleet }) {
			t.Errorf("it is joined, and says %v", s.Alarms())
		}
		u.eventually("nothing degrades it", func() bool { _, body := u.askReady(); return strings.Contains(body, `"degraded":false`) })
	}
}

// A block that a node's allowlist refused is taken when a reload strikes the
// address off the list.
func TestFleetReloadTakesWhatWasAllowed(t *testing.T) {
	t.Parallel()
	a, b := startFleet(t, redistest.Start(t, redistest.Options{}))
	const addr = "198.51.100.9"
	without := b.yaml
	reload := func(yaml string) {
		b.yaml = yaml
		if err := b.Reload(); err != nil {
			t.Fatal(err)
		}
	}
	reload(without + "allowlist: [" + addr + "]\n")
	now := a.view().Now()
	block := edgeguard.Block{Prefix: netip.MustParsePrefix(addr + "/32"), Rule: "manual", Since: now, Until: now.Add(time.Hour)}
	if _, err := a.view().Block(block, false); err != nil {
		t.Fatal(err)
	}
	b.eventually("the block is refused", func() bool { return b.fleet().Rejected > 0 })
	if b.blocked(addr) {
		t.Fatal("an allowlisted address is blocked")
	}
	reload(without)
	b.eventually("the block is taken", func() bool { return b.blocked(addr) })
}

// Redis' own address is protected: as the config spells it immediately, and as its
// name resolves when that was looked up, which no start waits for.
func TestRedisIsProtected(t *testing.T) {
	u := newNode(t, shortDir(t), `
state: $DIR/state
fleet: {insecure: true, redis: ["redis://10.0.0.77:6379", "redis://redis.example.org:6379", "redis://[fd00::77]:6379"]}
`)
	spelled := []netip.Addr{netip.MustParseAddr("10.0.0.77"), netip.MustParseAddr("fd00::77")}
	resolved := []netip.Addr{netip.MustParseAddr("10.0.0.78"), netip.MustParseAddr("fd00::78")}
	holds := func(when string, want ...netip.Addr) {
		t.Helper()
		known := u.protected.redisAddresses(u.pipeline.Current().Config.Fleet)
		slices.SortFunc(known, netip.Addr.Compare)
		slices.SortFunc(want, netip.Addr.Compare)
		if !slices.Equal(known, want) {
			t.Errorf("%s: %v are known, not %v", when, known, want)
		}
	}
	holds("at the start", spelled...)
	if err := u.protected.resolveRedis(t.Context(), dnsOf(map[string][]netip.Addr{"redis.example.org": resolved})); err != nil {
		t.Fatal(err)
	}
	holds("once the name is resolved", slices.Concat(spelled, resolved)...)
	if err := u.protected.resolveRedis(t.Context(), dnsOf(nil)); err == nil || !strings.Contains(err.Error(), "redis.example.org") {
		t.Errorf("a name that is gone: %v", err)
	}
	holds("while the name cannot be resolved", slices.Concat(spelled, resolved)...)
}

// What the fleet counts of a key that is far from the limit, and that its nodes
// keep to themselves, is shown whole, with each node's part; the runs of a node
// are one.
func TestFleetCounts(t *testing.T) {
	t.Parallel()
	quiet := strings.Replace(fleetOfTwo, "threshold: 20,", "threshold: 1000,", 1)
	a, b := startFleetOf(t, redistest.Start(t, redistest.Options{}), quiet, quiet)
	const addr = "203.0.113.9"
	for range 7 {
		a.request(addr)
	}
	for range 5 {
		b.request(addr)
	}
	sees := func(u *underTest, want string) {
		t.Helper()
		last := "nothing"
		t.Cleanup(func() {
			if t.Failed() {
				t.Logf("the fleet's count was last %s, not %s", last, want)
			}
		})
		u.eventually("the fleet's count is "+want, func() bool {
			x, err := u.desk().Explain(t.Context(), netip.MustParseAddr(addr))
			if err != nil {
				t.Fatal(err)
			}
			last = fmt.Sprintf("%+v, %+v", x.Rules[0].Fleet, x.Rules[1].Fleet)
			return x.Rules[1].Fleet == nil && x.Rules[0].Fleet != nil && fmt.Sprint(*x.Rules[0].Fleet) == want
		})
	}
	sees(a, "{12 [{edge-a 7} {edge-b 5}]}")
	sees(b, "{12 [{edge-a 7} {edge-b 5}]}")
	b.stop()
	b = newNode(t, b.folder, b.yaml).start()
	restored := b.clock.Now() // at the latest; the slot of the restore is never pushed
	b.eventually("it is joined again and its first slot is over", func() bool {
		f := b.fleet()
		return f.Up && f.Syncs > 0 && b.clock.Now().Unix() > restored.Unix()
	})
	for range 4 {
		b.request(addr)
	}
	sees(a, "{16 [{edge-b 9} {edge-a 7}]}")
	top, err := a.desk().Top(t.Context(), 5)
	if err != nil || len(top.Keys) == 0 || top.Keys[0].Fleet == nil || top.Keys[0].Fleet.Count != 16 {
		t.Errorf("%+v, %v", top, err)
	}
}

// A block that one node makes by itself, of what it and the others count, says
// which of them counted how much, and all copies say the same.
func TestReasonOfACrossingHere(t *testing.T) {
	t.Parallel()
	a, b := startFleet(t, redistest.Start(t, redistest.Options{}))
	const addr = "203.0.113.30"
	for range 12 {
		b.request(addr)
	}
	for range 6 {
		a.request(addr)
	}
	a.eventually("both have pushed what they count", func() bool {
		x, err := a.desk().Explain(t.Context(), netip.MustParseAddr(addr))
		if err != nil {
			t.Fatal(err)
		}
		return x.Rules[0].Fleet != nil && x.Rules[0].Fleet.Count == 18
	})
	a.eventually("it is blocked", func() bool {
		a.request(addr)
		return a.blocked(addr)
	})
	for _, u := range []*underTest{a, b} {
		u.eventually("the block says which node saw how much", func() bool {
			block := u.standing(addr)
			return block != nil && strings.Contains(block.Reason, "edge-b 12") && strings.Contains(block.Reason, "edge-a ")
		})
	}
	namesBoth(a, b, addr)
	a.eventually("both lists say the same", func() bool {
		x, y := *a.standing(addr), *b.standing(addr)
		x.Since, x.Until = y.Since, y.Until // by each node's own clock
		return x == y
	})
}

// namesBoth checks the evidence of a block by the counts of both nodes: it is on the
// node that made the block, and the other names that node.
func namesBoth(a, b *underTest, addr string) {
	a.t.Helper()
	// Where both blocked it in the same moment, the later block comes to be in force
	// on both, but each keeps the evidence of its own: the maker is fixed here.
	maker, other, origin := a, b, a.standing(addr).Origin
	if origin == "edge-b" {
		maker, other = b, a
	}
	var e admin.Evidence
	maker.eventually("the evidence has the split", func() bool {
		status, body := maker.get("/api/v1/evidence/" + addr)
		if status != 200 || json.Unmarshal([]byte(body), &e) != nil {
			a.t.Fatalf("evidence: %d %s", status, body)
		}
		return len(e.Split) == 2
	})
	nodes, total := []string{e.Split[0].Node, e.Split[1].Node}, e.Split[0].Count+e.Split[1].Count
	slices.Sort(nodes)
	if !slices.Equal(nodes, []string{"edge-a", "edge-b"}) || !e.Fleet || e.Count <= e.Limit || total <= e.Limit || e.Origin != origin {
		a.t.Errorf("evidence: %+v", e)
	}
	here := uint32(0)
	for _, n := range e.Slots {
		here += uint32(n)
	}
	if here == 0 || here > e.Limit {
		a.t.Errorf("this node alone counted %d in the evidence, the limit is %d", here, e.Limit)
	}
	// Both nodes may have crossed in the same moment: then the other has its own.
	status, body := other.get("/api/v1/evidence/" + addr)
	asked := status == 404 && strings.Contains(body, "ask node "+e.Origin)
	if own := status == 200 && strings.Contains(body, `"origin":"`+other.pipeline.Current().Config.Node+`"`); !asked && !own {
		a.t.Errorf("the other node: %d %s", status, body)
	}
}

// desk is a client of the node's admin API.
func (u *underTest) desk() *client.Client {
	u.t.Helper()
	c, err := client.New(client.Config{Address: "unix:" + filepath.Join(u.folder, "admin.sock")})
	if err != nil {
		u.t.Fatal(err)
	}
	u.t.Cleanup(c.Close)
	return c
}

// A reload that takes the node out of its fleet pushes the last counts first;
// another lets it join again.
func TestReloadLeavesFleet(t *testing.T) {
	t.Parallel()
	a, b := startFleet(t, redistest.Start(t, redistest.Options{}))
	for range 3 {
		a.request("203.0.113.40")
	}
	before := a.yaml
	a.yaml = regexp.MustCompile(`(?m)^fleet:.*$`).ReplaceAllString(before, "")
	if err := a.Reload(); err != nil {
		t.Fatal(err)
	}
	if f := a.view().Stats().Fleet; f != nil {
		t.Errorf("a node alone shows %+v", f)
	}
	b.eventually("the fleet has what it counted", func() bool {
		x, err := b.desk().Explain(t.Context(), netip.MustParseAddr("203.0.113.40"))
		return err == nil && x.Rules[0].Fleet != nil && x.Rules[0].Fleet.Count == 3
	})
	a.yaml = before
	if err := a.Reload(); err != nil {
		t.Fatal(err)
	}
	a.eventually("it is joined again", func() bool { f := a.fleet(); return f != nil && f.Up })
	if err := a.Reload(); err != nil { // which changes nothing
		t.Fatal(err)
	}
	line := regexp.MustCompile(`msg="joining the fleet" redis=redis://127.0.0.1:[0-9]+\S* namespace=test node=edge-a boot=[0-9a-f]{16}`)
	if got := line.FindAllString(a.log.String(), -1); len(got) != 2 {
		t.Errorf("%d lines say which fleet is joined, want one for each time:\n%s", len(got), a.log)
	}
}

// A block of another node is told in what its rule counts while both nodes' rules are the same, and as a bare
// figure where they are not: there a unit of this node's may be wrong.
func TestBlockOfAnotherNodeHasWords(t *testing.T) {
	t.Parallel()
	dear := strings.Replace(fleetOfTwo, "{name: site, threshold: 20,", "{name: site, cost: 2, threshold: 40,", 1)
	for second, want := range map[string]string{dear: "21 requests, limit 20", fleetOfTwo: "count 42, limit 40"} {
		a, b := startFleetOf(t, redistest.Start(t, redistest.Options{}), dear, second)
		prefix := netip.MustParsePrefix("203.0.113.77/32")
		for range 21 {
			a.request(prefix.Addr().String())
		}
		for _, u := range []*underTest{a, b} {
			said := want
			if u == a {
				said = "21 requests, limit 20"
			}
			got := ""
			u.eventually("it has the block as "+said, func() bool {
				if found := u.admin.status.Find(u.admin.status.Now(), prefix); len(found) > 0 {
					one := u.admin.status.Active(found)[0]
					got = one.Unit.Beside(one.Count, one.Limit)
				}
				return got == said
			})
		}
	}
}
