package fleet

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"edgeguard/admin"
	"edgeguard/aggregator"
	"edgeguard/aggregator/redis"
	"edgeguard/cmd/edgeguard/blocks"
)

// The rows of docs/fleet.md, "Who can do what", by what somebody holds. What he cannot do
// with a node's Redis user is TestThief.

// as returns a client of another Redis user.
func (g *guarded) as(user, password, rights string) *goredis.Client {
	g.t.Helper()
	if rights != "" {
		args := []any{"ACL", "SETUSER", user, "on", ">" + password}
		for _, one := range strings.Fields(rights) {
			args = append(args, one)
		}
		if err := g.redis.Do(background, args...).Err(); err != nil {
			g.t.Fatal(err)
		}
	}
	options := g.server.Options()
	options.Username, options.Password = user, password
	c := goredis.NewClient(options)
	g.t.Cleanup(func() { c.Close() })
	return c
}

// signed writes a record with its MAC, as a node with the key would.
func (th *thief) signed(prefix netip.Prefix, change func(*aggregator.Record)) {
	th.t.Helper()
	keys, err := aggregator.ParseSigningKeys(guardedSecret)
	if err != nil {
		th.t.Fatal(err)
	}
	record := th.record(prefix, change)
	args := []any{time.Now().UnixMilli(), prefix.String(), record, keys.Record(namespace, prefix.String(), record)}
	if err := th.client.FCall(background, redis.LibraryName+"_publish", publishKeys(), args...).Err(); err != nil {
		th.t.Fatal(err)
	}
}

func publishKeys() []string {
	return []string{blocksKey("blocks"), blocksKey("ends"), blocksKey("stream"), blocksKey("state"), blocksKey("macs")}
}

func memberKeys() (keys []string) {
	for _, what := range []string{"nodes", "state", "ends", "blocks", "seen", "moved", "macs"} {
		keys = append(keys, blocksKey(what))
	}
	return keys
}

// Who reads Redis sees who is blocked, and neither changes anything nor learns the key.
func TestWhoReadsRedis(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	g := startGuarded(t, require)
	p := netip.MustParsePrefix("203.0.113.10/32")
	g.block(g.nodes[0], p)
	reader := g.as("reader", "reader", "~* -@all +@read")
	if reader.HGet(background, blocksKey("blocks"), p.String()).Val() == "" {
		t.Error("the block cannot be read")
	}
	raw, _ := hex.DecodeString(guardedSecret)
	for _, key := range g.redis.Keys(background, "*").Val() {
		if text := g.redis.Dump(background, key).Val(); strings.Contains(text, guardedSecret) || strings.Contains(text, string(raw)) {
			t.Errorf("%q holds the fleet's key", key)
		}
	}
	for _, command := range [][]any{{"hset", blocksKey("blocks"), p.String(), "x"}, {"del", blocksKey("blocks")}, {"fcall", redis.LibraryName + "_publish", 0}} {
		if err := reader.Do(background, command...).Err(); err == nil || !strings.Contains(err.Error(), "NOPERM") {
			t.Errorf("%v: %v", command, err)
		}
	}
}

// block has an operator of one node block, and waits until all nodes do.
func (g *guarded) block(by *guardedNode, p netip.Prefix) {
	g.t.Helper()
	if _, err := by.admin.Block(background, admin.BlockRequest{Prefix: p.String(), Reason: "by hand"}); err != nil {
		g.t.Fatal(err)
	}
	g.all(p, true)
}

// all waits until every node blocks exactly this prefix, or until none does.
func (g *guarded) all(p netip.Prefix, blocked bool) {
	g.t.Helper()
	for _, n := range g.nodes {
		n.Until(fmt.Sprintf("%s blocks %s: %v", n.name, p, blocked), func() bool { return n.blocks(p) == blocked })
	}
}

// Who has a node's password can stop the fleet: the nodes go on by their own lists and
// counts, and fill Redis again when he stops.
func TestWhoStopsTheFleet(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	g := startGuarded(t, require)
	p := netip.MustParsePrefix("203.0.113.10/32")
	g.block(g.nodes[0], p)
	th := g.thief()
	for _, what := range []string{"blocks", "ends", "stream", "state", "nodes", "macs", "seen", "moved", "watch"} {
		th.client.Del(background, blocksKey(what))
	}
	over := netip.MustParseAddr("203.0.113.11")
	for _, n := range g.nodes {
		if !n.blocks(p) || n.sends(over, guardedLimit+5) == 0 {
			t.Errorf("%s does not decide alone", n.name)
		}
	}
	g.nodes[0].Until("Redis has the block again, signed", func() bool {
		return g.redis.HExists(background, blocksKey("macs"), p.String()).Val() && g.redis.HExists(background, blocksKey("blocks"), p.String()).Val()
	})
	g.all(p, true)
}

// He can give a node without state a signed record of before. Other nodes put it right
// at their next full read, and a node with state never takes it.
func TestWhoReplays(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	g := startGuarded(t, require)
	p := netip.MustParsePrefix("203.0.113.10/32")
	g.block(g.nodes[0], p)
	th := g.thief()
	record, mac := th.client.HGet(background, blocksKey("blocks"), p.String()).Val(), g.redis.HGet(background, blocksKey("macs"), p.String()).Val()
	if _, err := g.nodes[0].admin.Unblock(background, p.String(), "back"); err != nil {
		t.Fatal(err)
	}
	g.all(p, false)
	g.read()
	th.client.HSet(background, blocksKey("blocks"), p.String(), record)
	th.client.HSet(background, blocksKey("macs"), p.String(), mac)
	g.nodes[0].reload()
	g.nodes[0].Until("the unblock is in Redis again", func() bool {
		return g.redis.HGet(background, blocksKey("blocks"), p.String()).Val() != record
	})
	g.twice(func(when string) {
		for _, n := range g.nodes {
			if n.blocks(p) {
				t.Errorf("%s, %s blocks what was unblocked", when, n.name)
			}
		}
	})
}

// Without a key he can unblock, and allow a few addresses: at most 100 a minute. What
// waits then is not lost.
func TestWhoAllowsWithoutKey(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	g := startGuarded(t, noKey)
	p := netip.MustParsePrefix("203.0.113.10/32")
	g.block(g.nodes[0], p)
	th := g.thief()
	th.writes([]netip.Prefix{p}, func(r *aggregator.Record) { r.Block.Lifted, r.Forced = true, false })
	g.all(p, false)
	var many []netip.Prefix
	for i := range 150 {
		many = append(many, netip.PrefixFrom(netip.AddrFrom4([4]byte{100, 64, byte(i), 0}), 24))
	}
	th.writes(many, func(r *aggregator.Record) { r.Block.Allow, r.Block.Rule, r.Forced = true, "", false })
	g.read()
	for _, n := range g.nodes {
		if _, allowed := n.listed(); len(allowed) == 0 || len(allowed) > 100 {
			t.Errorf("%s allows %d of 150 within a minute", n.name, len(allowed))
		}
	}
	g.alarmed("fleet_held")
}

// The key and a node's password are a stolen node: it forces and allows up to /8, and
// overrides nothing that another node protects.
func TestWhoStealsANode(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	g := startGuarded(t, require)
	th := g.thief()
	eight := netip.MustParsePrefix("9.0.0.0/8")
	for _, p := range []netip.Prefix{eight, netip.MustParsePrefix("8.0.0.0/7"), netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("2000::/15"), netip.MustParsePrefix("192.0.2.1/32")} {
		th.signed(p, nil)
	}
	g.all(eight, true)
	g.twice(func(when string) { g.noneRefused(when, eight) })
	wide := netip.MustParsePrefix("11.0.0.0/8")
	th.signed(wide, func(r *aggregator.Record) { r.Block.Allow, r.Block.Rule = true, "" })
	for _, n := range g.nodes {
		n.Until(n.name+" allows", func() bool { return n.allows(wide) })
	}
}

// A stolen node forces everything that he may, and then allows it: all IPv4 /8 and all IPv6
// /16 with clients. A sixteenth of each is in force, on a node that joins as well, and the
// rest waits, whatever version he writes.
func TestWhoStealsANodeForcesAll(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	g := startGuarded(t, require)
	th := g.thief()
	var v4, v6, all []netip.Prefix
	for i, p := range networks(8, 224) {
		if i != 0 && i != 10 && i != 127 {
			v4 = append(v4, p)
		}
	}
	for _, first := range []byte{0x24, 0x26, 0x28, 0x2a, 0x2c} {
		for i := range byte(16) {
			v6 = append(v6, netip.PrefixFrom(netip.AddrFrom16([16]byte{first, i}), 16))
		}
	}
	all = slices.Concat(v4, v6)
	for _, allow := range []bool{false, true} {
		for version := range uint64(2) {
			for _, p := range all {
				th.signed(p, func(r *aggregator.Record) {
					if r.Block.Version += version; allow {
						r.Block.Allow, r.Block.Rule, r.Block.Version = true, "", r.Block.Version+10
					}
				})
			}
		}
		g.twice(func(when string) {
			for _, n := range g.nodes {
				blocks, allowances := n.listed()
				for what, in := range map[string][]netip.Prefix{"blocked": blocks, "allowed": allowances} {
					six := slices.DeleteFunc(slices.Clone(in), func(p netip.Prefix) bool { return p.Addr().Is4() })
					if four := len(in) - len(six); four > 16 || len(six) > 8 || (what == "allowed") == allow && (four == 0 || len(six) == 0) {
						t.Errorf("%s, %s: %d of %d /8 and %d of %d /16 are %s", when, n.name, four, len(v4), len(six), len(v6), what)
					}
				}
				s, err := n.admin.Status(background)
				if err != nil || s.Fleet.Held < len(all)-24 {
					t.Errorf("%s, %s: %d wait, %v", when, n.name, s.Fleet.Held, err)
				}
			}
		})
	}
	g.alarmed("fleet_held")
}

// An operator of one node speaks for the fleet up to /8, and overrides what is protected
// on his own node alone.
func TestWhoOperates(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	g := startGuarded(t, require)
	force := func(p string) netip.Prefix {
		if _, err := g.nodes[0].admin.Block(background, admin.BlockRequest{Prefix: p, Reason: "by hand", Force: true}); err != nil {
			t.Fatal(err)
		}
		return netip.MustParsePrefix(p)
	}
	own, wider, eight := force("192.0.2.1/32"), force("8.0.0.0/7"), force("12.0.0.0/8")
	g.all(eight, true)
	if !g.nodes[0].blocks(own) || !g.nodes[0].blocks(wider) {
		t.Error("what he forced is not in force on his node")
	}
	g.twice(func(when string) {
		if n := g.nodes[1]; n.blocks(own) || n.blocks(wider) || n.sends(own.Addr(), 1) != 0 {
			t.Errorf("%s, %s has taken what is protected there, or too wide", when, n.name)
		}
	})
}

// Without a key, the commands name the nodes on which a change waits; with one they
// say that it waits nowhere.
func TestUnsignedIsSaid(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	const (
		nothing = ""
		none    = "waits on none of the 2 nodes alive"
		other   = " there" // edgeguard blocks confirm PREFIX
		unasked = "another node may hold it"
	)
	for _, mode := range []keyMode{noKey, accept} {
		g := startGuarded(t, mode)
		for _, c := range []struct{ command, prefix, says string }{
			{"blocks add 203.0.113.0/24 --force", "203.0.113.0/24", none},
			{"blocks add 203.0.113.9", "203.0.113.9", nothing},
			{"blocks add 101.64.0.0/20", "101.64.0.0/20", other},
			{"blocks add 100.64.0.0/12 --force", "100.64.0.0/12", other},
			{"blocks remove 100.64.0.0/12", "100.64.0.0/12", none},
			{"blocks add 100.80.0.0/12 --force --no-wait", "100.80.0.0/12", unasked},
			{"allow add 100.96.0.0/16", "100.96.0.0/16", other},
			{"allow add 100.112.1.0/24", "100.112.1.0/24", nothing},
		} {
			said := g.says(g.nodes[0], c.command, c.prefix)
			want := c.says
			switch {
			case mode == accept && !strings.Contains(c.command, "--force") && strings.HasPrefix(c.command, "blocks add"):
				want = nothing // it is weighed by its share
			case want != nothing && mode == accept:
				want = "it waits for confirmation on no node that has the key"
			case want == other:
				want = fmt.Sprintf("%s waits for confirmation on edge-2: edgeguard blocks confirm %[1]s there", c.prefix)
			}
			if !strings.Contains(said, want) || want == nothing && strings.Count(said, "\n") != 1 {
				t.Errorf("%s: %s says\n%swant %q", mode, c.command, said, want)
			}
		}
		if mode == noKey {
			for _, c := range []struct{ command, prefix, says string }{
				{"blocks confirm 100.96.0.0/16", "100.96.0.0/16", "100.96.0.0/16 " + none},
				{"blocks confirm --all", "", "a record " + none},
			} {
				if said := g.says(g.nodes[1], c.command, c.prefix); !strings.Contains(said, c.says) {
					t.Errorf("%s says\n%swant %q", c.command, said, c.says)
				}
			}
		}
	}
}

// says returns what a command says on a node about a prefix, "" for all. On a busy
// machine a heartbeat may take longer than the command waits: then it asks again.
func (g *guarded) says(n *guardedNode, command, prefix string) string {
	g.t.Helper()
	r := &rotation{guarded: g}
	said := r.command(append(strings.Fields(command), "--config", n.Path("config.yaml"))...)
	for tries := 0; strings.Contains(said, "has not answered") && tries < 10; tries++ {
		var again strings.Builder
		blocks.Say(background, &again, n.admin, true, slices.DeleteFunc([]string{prefix}, func(p string) bool { return p == "" })...)
		said = again.String()
	}
	return said
}
