package server_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"net/url"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/admin/server"
)

// A walk through the pages shows each block that was there the whole time exactly
// once, in every order, while others come and go, and while ends move.
func TestWalkWhileBlocksComeAndGo(t *testing.T) {
	for _, order := range []string{"prefix", "newest", "ends", "count"} {
		for _, dir := range []string{"asc", "desc"} {
			t.Run(order+" "+dir, func(t *testing.T) {
				for range 5 {
					walkOnce(t, order, dir)
				}
			})
		}
	}
}

func walkOnce(t *testing.T, order, dir string) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	n := newNode()
	random400(t, n, random)
	s := serve(t, n, server.Config{})
	stays := make(map[netip.Prefix]bool)
	for b := range n.list.All(start) {
		stays[b.Prefix] = true
	}
	seen := make(map[netip.Prefix]int)
	query := url.Values{"order": {order}, "dir": {dir}, "limit": {"23"}}
	first := true
	for next := "-"; next != ""; first = false {
		page := decode[admin.BlockPage](t, s, "/api/v1/blocks?"+query.Encode())
		for _, b := range page.Blocks {
			seen[b.Prefix]++
			if first && !stays[b.Prefix] {
				t.Fatalf("%s was never blocked", b.Prefix)
			}
		}
		next = page.Next
		query.Set("cursor", next)
		disturb(t, n, random, stays)
	}
	for p := range stays {
		if seen[p] != 1 {
			t.Errorf("%s was shown %d times", p, seen[p])
		}
	}
	for p, times := range seen {
		if times > 1 {
			t.Errorf("%s was shown %d times", p, times)
		}
	}
}

// disturb lifts some blocks, makes others, and moves ends. It notes what does not stay.
func disturb(t *testing.T, n *node, random *rand.Rand, stays map[netip.Prefix]bool) {
	for b := range n.list.All(start) {
		switch random.IntN(20) {
		case 0:
			n.list.Lift(b.Prefix, start, "", "n1")
			delete(stays, b.Prefix)
		case 1:
			b.Until = start.Add(time.Duration(1+random.IntN(9999)) * time.Second)
			b.Version++
			if changed, err := n.list.Merge(b, start); err != nil || !changed {
				t.Fatalf("the end of %s does not move: %v", b.Prefix, err)
			}
		}
	}
	for range 5 {
		b := edgeguard.Block{Prefix: netip.PrefixFrom(netip.AddrFrom4([4]byte{30, 0, 0, byte(random.IntN(256))}), 32), Rule: "c", Count: uint32(random.IntN(9)), Since: start, Until: start.Add(time.Hour)}
		if _, _, err := n.list.Add(b, false, start); err != nil {
			t.Fatal(err)
		}
	}
}

// A cursor whose copy is gone goes on behind its place in a new one.
func TestCursorOfACopyThatIsGone(t *testing.T) {
	n := newNode()
	for i := range 5 {
		b := edgeguard.Block{Prefix: numbered(uint32(i)), Rule: "site", Since: start, Until: start.Add(time.Hour + time.Duration(i)*time.Second)}
		if _, _, err := n.list.Add(b, false, start); err != nil {
			t.Fatal(err)
		}
	}
	s := serve(t, n, server.Config{})
	first := decode[admin.BlockPage](t, s, "/api/v1/blocks?order=ends&limit=2")
	gone := fmt.Sprintf("ends,%d,%s,%d", first.Blocks[1].Until.UnixMicro(), first.Blocks[1].Prefix, uint64(1)<<60)
	rest := decode[admin.BlockPage](t, s, "/api/v1/blocks?order=ends&cursor="+url.QueryEscape(gone))
	if len(rest.Blocks) != 3 || rest.Blocks[0].Prefix != numbered(2) || rest.Next != "" {
		t.Errorf("%+v", rest)
	}
	if status, _ := s.ask(t, request{method: "GET", path: "/api/v1/blocks?order=count&cursor=" + url.QueryEscape(gone), unix: true}); status != http.StatusBadRequest {
		t.Errorf("by another order: %d", status)
	}
}
