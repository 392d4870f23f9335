package server_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	diffs "github.com/google/go-cmp/cmp"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/admin/server"
	"edgeguard/blocklist"
)

// random400 puts 400 blocks of all kinds into a node's list.
func random400(t *testing.T, n *node, random *rand.Rand) {
	for range 400 {
		addr := netip.AddrFrom4([4]byte{20, byte(random.IntN(2)), byte(random.IntN(4)), byte(random.IntN(256))})
		if random.IntN(3) == 0 {
			addr = netip.MustParseAddr(fmt.Sprintf("2001:db8:%x::%x", random.IntN(3), random.IntN(99)+1))
		}
		b := edgeguard.Block{
			Prefix: netip.PrefixFrom(addr, addr.BitLen()-random.IntN(3)*4).Masked(), Rule: []string{"a", "b", edgeguard.ManualRule}[random.IntN(3)],
			Origin: []string{"n1", "n2"}[random.IntN(2)], Proxied: random.IntN(2) == 0, Since: start.Add(-time.Duration(random.IntN(60)) * time.Second), Until: start.Add(time.Hour + time.Duration(random.IntN(60))*time.Second),
			Count: uint32(random.IntN(9)),
		}
		if _, _, err := n.list.Add(b, true, start); err != nil {
			t.Fatal(err)
		}
	}
}

// choice is a random filter: its query, and what it means.
type choice struct {
	query url.Values
	wants []func(edgeguard.Block) bool
}

func (c *choice) add(name, value string, wants func(edgeguard.Block) bool) {
	c.query.Set(name, value)
	c.wants = append(c.wants, wants)
}

func choose(random *rand.Rand, pick netip.Prefix) choice {
	c := choice{query: url.Values{}}
	some := func() bool { return random.IntN(4) == 0 }
	if some() {
		rule := []string{"a", "b", "none"}[random.IntN(3)]
		c.add("rule", rule, func(b edgeguard.Block) bool { return b.Rule == rule })
	}
	if some() {
		v6 := random.IntN(2) == 0
		c.add("family", map[bool]string{true: "ipv6", false: "ipv4"}[v6], func(b edgeguard.Block) bool { return b.Prefix.Addr().Is6() == v6 })
	}
	if some() {
		c.add("proxied", "true", func(b edgeguard.Block) bool { return b.Proxied })
	}
	if some() {
		after := start.Add(-time.Duration(random.IntN(60)) * time.Second)
		c.add("since_after", after.Format(time.RFC3339), func(b edgeguard.Block) bool { return b.Since.After(after) })
	}
	if some() {
		within := netip.PrefixFrom(pick.Addr(), random.IntN(pick.Bits()+1)).Masked()
		c.add("prefix", within.String(), func(b edgeguard.Block) bool {
			return within.Bits() <= b.Prefix.Bits() && within.Contains(b.Prefix.Addr())
		})
	}
	if some() {
		c.add("contains", pick.Addr().String(), func(b edgeguard.Block) bool { return b.Prefix.Contains(pick.Addr()) })
	}
	switch random.IntN(8) {
	case 0:
		c.add("made_by", "fleet", func(b edgeguard.Block) bool { return b.Origin == "n2" })
	case 1:
		c.add("made_by", "manual", func(b edgeguard.Block) bool { return b.Origin == "n1" && b.Rule == edgeguard.ManualRule })
	case 2:
		c.add("made_by", "local", func(b edgeguard.Block) bool { return b.Origin == "n1" && b.Rule != edgeguard.ManualRule })
	}
	return c
}

// randomOrder chooses an order and returns what it means.
func randomOrder(random *rand.Rand, query url.Values) (order func(a, b edgeguard.Block) int, dir int) {
	names := []string{"", "prefix", "newest", "ends", "count"}
	chosen := random.IntN(len(names))
	order = []func(a, b edgeguard.Block) int{
		func(a, b edgeguard.Block) int { return 0 }, func(a, b edgeguard.Block) int { return 0 },
		func(a, b edgeguard.Block) int { return a.Since.Compare(b.Since) },
		func(a, b edgeguard.Block) int { return a.Until.Compare(b.Until) },
		func(a, b edgeguard.Block) int { return int(a.Count) - int(b.Count) },
	}[chosen]
	if chosen > 0 {
		query.Set("order", names[chosen])
	}
	dir = []int{1, 1, -1, 1, -1}[chosen]
	switch random.IntN(3) {
	case 0:
		query.Set("dir", "asc")
		return order, 1
	case 1:
		query.Set("dir", "desc")
		return order, -1
	}
	return order, dir
}

// Pages in each order have what sorting and filtering all blocks gives, and the
// first one says how many that is.
func TestOrders(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	n := newNode()
	random400(t, n, random)
	all := slices.Collect(n.list.All(start))
	s := serve(t, n, server.Config{})
	for range 200 {
		c := choose(random, all[random.IntN(len(all))].Prefix)
		order, dir := randomOrder(random, c.query)
		want := slices.DeleteFunc(slices.Clone(all), func(b edgeguard.Block) bool {
			return slices.ContainsFunc(c.wants, func(wants func(edgeguard.Block) bool) bool { return !wants(b) })
		})
		slices.SortFunc(want, func(a, b edgeguard.Block) int { return dir * cmp.Or(order(a, b), a.Prefix.Compare(b.Prefix)) })
		var prefixes, got []string
		for _, b := range want {
			prefixes = append(prefixes, b.Prefix.String())
		}
		c.query.Set("limit", fmt.Sprint(1+random.IntN(80)))
		query := c.query.Encode()
		for next, first := "-", true; next != ""; first = false {
			page := decode[admin.BlockPage](t, s, "/api/v1/blocks?"+c.query.Encode())
			if next = page.Next; page.Total != len(all) || first && (page.Matched == nil || *page.Matched != len(want)) || !first && page.Matched != nil {
				t.Fatalf("%s: total %d, matched %v, want %d and %d", query, page.Total, page.Matched, len(all), len(want))
			}
			for _, b := range page.Blocks {
				got = append(got, b.Prefix.String())
			}
			c.query.Set("cursor", next)
		}
		if diff := diffs.Diff(prefixes, got); diff != "" {
			t.Fatalf("%s: %s", query, diff)
		}
	}
}

// One answer looks at a bounded number of blocks. It says so, and its cursor goes
// on where it ended.
func TestLooksAreBounded(t *testing.T) {
	const many = 100_100 // more than one answer looks at
	n := newNode()
	n.list.Restore(manyBlocks(many), start)
	rare := edgeguard.Block{Prefix: netip.MustParsePrefix("203.0.113.7/32"), Rule: "rare", Origin: "n2", Proxied: true, Since: start, Until: start.Add(time.Hour)}
	if _, _, err := n.list.Add(rare, false, start); err != nil {
		t.Fatal(err)
	}
	n.list.Restore(manyBlocks(many+3), start) // three older ones, found last
	s := serve(t, n, server.Config{})
	first := decode[admin.BlockPage](t, s, "/api/v1/blocks?order=newest&proxied=true&limit=10")
	if len(first.Blocks) != 1 || first.Next == "" || first.Looked != 100_000 || first.Matched != nil || first.MatchedAtLeast != 1 {
		t.Fatalf("first: %d blocks, next %q, looked %d, at least %d", len(first.Blocks), first.Next, first.Looked, first.MatchedAtLeast)
	}
	second := decode[admin.BlockPage](t, s, "/api/v1/blocks?order=newest&proxied=true&limit=10&cursor="+url.QueryEscape(first.Next))
	if len(second.Blocks) != 0 || second.Next != "" || second.Looked != 0 {
		t.Fatalf("second: %d blocks, next %q, looked %d", len(second.Blocks), second.Next, second.Looked)
	}
	mostly := decode[admin.BlockPage](t, s, "/api/v1/blocks?order=newest&proxied=false&limit=10")
	if len(mostly.Blocks) != 10 || mostly.Next == "" || mostly.MatchedAtLeast < 10_000 || mostly.Looked != 0 {
		t.Fatalf("of nearly all: %d blocks, at least %d", len(mostly.Blocks), mostly.MatchedAtLeast)
	}
	// By what blocks have in common they are counted without a look.
	made := decode[admin.BlockPage](t, s, "/api/v1/blocks?order=newest&made_by=local&family=ipv4&limit=10")
	if len(made.Blocks) != 10 || made.Matched == nil || *made.Matched != many+3 {
		t.Fatalf("made here: %d blocks, %v match", len(made.Blocks), made.Matched)
	}
}

// manyBlocks returns blocks of a rule, the first one the newest.
func manyBlocks(n int) func(yield func(edgeguard.Block, blocklist.Trust) bool) {
	return func(yield func(edgeguard.Block, blocklist.Trust) bool) {
		for i := range n {
			b := edgeguard.Block{Prefix: numbered(uint32(i)), Rule: "site", Origin: "n1", Since: start.Add(-time.Duration(i+1) * time.Millisecond), Until: start.Add(time.Hour), Version: 1}
			if !yield(b, blocklist.Trust{}) {
				return
			}
		}
	}
}

func TestOrderIsRefused(t *testing.T) {
	s := serve(t, newNode(), server.Config{})
	for query, field := range map[string]string{
		"order=oldest": "order", "family=v4": "family", "made_by=me": "made_by", "proxied=yes": "proxied", "since_after=noon": "since_after",
		"order=newest&cursor=203.0.113.7/32": "cursor", "dir=up": "dir",
		"order=ends&cursor=count,7,203.0.113.7/32,0": "cursor", "order=ends&dir=desc&cursor=ends,7,203.0.113.7/32,0": "cursor", "order=ends&cursor=ends,x,203.0.113.7/32,0": "cursor",
		"order=ends&cursor=ends,7,203.0.113.7/32,-1": "cursor", "order=ends&cursor=ends,7,x,0": "cursor", "order=prefix&dir=desc&cursor=203.0.113.7/32": "cursor", "order=newest&cursor=2026-03-01T12:00:00Z": "cursor", "cursor=2026-03-01T12:00:00Z,203.0.113.7/32": "cursor",
	} {
		status, body := s.ask(t, request{method: "GET", path: "/api/v1/blocks?" + query, unix: true})
		if status != http.StatusBadRequest || !strings.Contains(string(body), fmt.Sprintf(`"field":%q`, field)) {
			t.Errorf("%s: %d %s", query, status, body)
		}
	}
}

// A block says how many events were refused because of it, or who refuses them
// unseen.
func TestRefused(t *testing.T) {
	n := newNode()
	n.mustBlock(t, "203.0.113.7/32", "site", "n1")
	if _, _, err := n.list.Add(edgeguard.Block{Prefix: numbered(1), Rule: "site", Proxied: true, Since: start, Until: start.Add(time.Hour)}, false, start); err != nil {
		t.Fatal(err)
	}
	s := serve(t, n, server.Config{})
	path := "/api/v1/blocks/203.0.113.7"
	if b := decode[admin.ActiveBlock](t, s, path); b.Refused == nil || *b.Refused != 0 || !b.LastRefused.IsZero() {
		t.Errorf("before: %+v", b)
	}
	_, hit := n.list.FindHit(start, netip.MustParseAddr("203.0.113.7"))
	for range 3 {
		hit.Refused(start.Add(time.Second), 1)
	}
	if status, _ := s.write(t, "PATCH", path, `{"for":"2h"}`); status != http.StatusOK {
		t.Fatalf("PATCH: %d", status)
	}
	for _, b := range []admin.ActiveBlock{
		decode[admin.ActiveBlock](t, s, path), decode[admin.BlockPage](t, s, "/api/v1/blocks?prefix=203.0.113.7").Blocks[0],
		*decode[admin.Explanation](t, s, "/api/v1/explain/203.0.113.7").Block,
	} {
		if b.Refused == nil || *b.Refused != 3 || !b.LastRefused.Equal(start.Add(time.Second)) || b.RefusedBy != "" {
			t.Errorf("refused 3 times and extended: %+v", b)
		}
	}
	_, body := s.ask(t, request{method: "GET", path: "/api/v1/blocks/" + numbered(1).String(), unix: true})
	if !strings.Contains(string(body), `"refused":null`) || !strings.Contains(string(body), `"refused_by":"nft"`) {
		t.Errorf("refused by an enforcer: %s", body)
	}
}
