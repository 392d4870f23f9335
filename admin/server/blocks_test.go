package server_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/admin/client"
	"edgeguard/admin/server"
)

// Every block of a hundred thousand is listed once and in order, also while
// others come and go.
func TestPagesOverManyBlocks(t *testing.T) {
	const many = 100_000
	n := newNode()
	for i := range uint32(many) {
		n.mustBlock(t, numbered(2*i).String(), "site", "n1")
	}
	s := serve(t, n, server.Config{})
	seen := make(map[netip.Prefix]int)
	var last netip.Prefix
	for b, err := range s.overUnix(t).Blocks(t.Context(), client.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		if b.Prefix.Compare(last) <= 0 {
			t.Fatalf("%v comes after %v", b.Prefix, last)
		}
		last = b.Prefix
		seen[b.Prefix]++
		if len(seen)%1000 == 1 { // between pages: others come and go
			i := rand.Uint32N(many)
			n.mustBlock(t, numbered(2*i+1).String(), "other", "n1")
			n.list.Lift(b.Prefix, start, "it was the cursor", "n1")
		}
	}
	for i := range uint32(many) {
		if seen[numbered(2*i)] != 1 {
			t.Fatalf("%v was listed %d times", numbered(2*i), seen[numbered(2*i)])
		}
	}
}

func TestPageLimits(t *testing.T) {
	n := newNode()
	for i := range uint32(250) {
		n.mustBlock(t, numbered(i).String(), "site", "n1")
	}
	s := serve(t, n, server.Config{})
	for _, c := range []struct {
		query string
		want  int
		next  bool
	}{
		{"", 100, true},
		{"?limit=1", 1, true},
		{"?limit=249", 249, true},
		{"?limit=250", 250, false},
		{"?limit=1000", 250, false},
		{"?limit=10&cursor=20.0.0.239/32", 10, false},
		{"?limit=10&cursor=20.0.0.238", 10, true},
		{"?cursor=20.0.0.249/32", 0, false},
		{"?cursor=ff00::/8", 0, false},
	} {
		page := decode[admin.BlockPage](t, s, "/api/v1/blocks"+c.query)
		if len(page.Blocks) != c.want || (page.Next != "") != c.next {
			t.Errorf("%q: %d blocks, next %q; want %d, %v", c.query, len(page.Blocks), page.Next, c.want, c.next)
		}
		if page.Blocks == nil {
			t.Errorf("%q: null instead of an empty list", c.query)
		}
	}
}

// Filters give what looking at every block gives.
func TestFilters(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	n := newNode()
	var all []edgeguard.Block
	for range 400 {
		addr := netip.AddrFrom4([4]byte{20, byte(random.IntN(2)), byte(random.IntN(4)), byte(random.IntN(256))})
		if random.IntN(3) == 0 {
			addr = netip.MustParseAddr(fmt.Sprintf("2001:db8:%x::%x", random.IntN(3), random.IntN(99)+1))
		}
		prefix := netip.PrefixFrom(addr, addr.BitLen()-random.IntN(3)*4).Masked()
		n.mustBlock(t, prefix.String(), []string{"a", "b"}[random.IntN(2)], []string{"n1", "n2"}[random.IntN(2)])
	}
	for b := range n.list.All(start) {
		all = append(all, b)
	}
	s := serve(t, n, server.Config{})
	c := s.overUnix(t)
	for range 200 {
		var f client.Filter
		within, contains := netip.Prefix{}, netip.Addr{}
		pick := all[random.IntN(len(all))].Prefix
		if random.IntN(2) == 0 {
			f.Rule = []string{"a", "b", "none"}[random.IntN(3)]
		}
		if random.IntN(2) == 0 {
			f.Origin = []string{"n1", "n2", "n3"}[random.IntN(3)]
		}
		if random.IntN(2) == 0 {
			within = netip.PrefixFrom(pick.Addr(), random.IntN(pick.Bits()+1)).Masked()
			f.Prefix = within.String()
		}
		if random.IntN(3) == 0 {
			contains = pick.Addr()
			f.Contains = contains.String()
		}
		var want []string
		for _, b := range all {
			inside := !within.IsValid() || within.Bits() <= b.Prefix.Bits() && within.Contains(b.Prefix.Addr())
			if inside && (f.Rule == "" || b.Rule == f.Rule) && (f.Origin == "" || b.Origin == f.Origin) && (!contains.IsValid() || b.Prefix.Contains(contains)) {
				want = append(want, b.Prefix.String())
			}
		}
		if diff := cmp.Diff(want, collect(t, c.Blocks(t.Context(), f))); diff != "" {
			t.Fatalf("%+v: %s", f, diff)
		}
	}
}

func TestBlockExtendUnblock(t *testing.T) {
	s := serve(t, newNode(), server.Config{})
	c := s.overUnix(t)

	made, err := c.Block(t.Context(), admin.BlockRequest{Prefix: "203.0.113.7", For: "10m", Reason: "scraper"})
	want := admin.Block{Prefix: netip.MustParsePrefix("203.0.113.7/32"), Rule: "manual", Reason: "scraper", Origin: "n1", Since: start, Until: start.Add(10 * time.Minute)}
	if err != nil || made != want {
		t.Fatalf("got %+v, %v; want %+v", made, err, want)
	}
	audit := s.lastAudit()
	if uid := fmt.Sprint("uid ", os.Getuid()); !strings.HasPrefix(audit.Who, uid+", pid ") || audit.User != uid {
		t.Errorf("audited as done by %q, user %q", audit.Who, audit.User)
	}
	audit.Who, audit.User = "", ""
	if diff := cmp.Diff(admin.Audit{Role: "operator", Way: "socket", Action: "block", Target: "203.0.113.7", Detail: "until 2026-03-01T12:10:00Z, reason: scraper", Result: "ok", Undo: "edgeguard blocks remove 203.0.113.7"}, audit); diff != "" {
		t.Error(diff)
	}

	_, err = c.Block(t.Context(), admin.BlockRequest{Prefix: "203.0.113.7", For: "1m"})
	if p := asProblem(t, err); p.Status != http.StatusConflict {
		t.Errorf("a shorter block: %v", err)
	}
	longer, err := c.Block(t.Context(), admin.BlockRequest{Prefix: "::ffff:203.0.113.7", For: "1h"})
	if err != nil || longer.Prefix != made.Prefix || !longer.Until.Equal(start.Add(time.Hour)) {
		t.Errorf("a longer block of the same address, written differently: %+v, %v", longer, err)
	}

	s.mustBlock(t, "198.51.100.0/24", "site", "n1")
	status, _ := s.write(t, "PATCH", "/api/v1/blocks/198.51.100.0/24", fmt.Sprintf(`{"until":%q}`, start.Add(30*time.Minute).Format(time.RFC3339)))
	extended := decode[admin.Block](t, s, "/api/v1/blocks/198.51.100.0/24")
	if status != http.StatusOK || extended.Rule != edgeguard.ManualRule || extended.Count != 1901 || !extended.Until.Equal(start.Add(30*time.Minute)) {
		t.Errorf("%d: extended to %+v", status, extended)
	}

	_, err = c.Unblock(t.Context(), "198.51.100.9", "")
	if p := asProblem(t, err); p.Status != http.StatusNotFound || !strings.Contains(p.Fix, "198.51.100.0/24") {
		t.Errorf("unblock of one address of a blocked network: %v", err)
	}
	lifted, err := c.Unblock(t.Context(), "198.51.100.0/24", "a customer")
	if err != nil || lifted.Reason != "a customer" {
		t.Errorf("lifted %+v, %v", lifted, err)
	}
	if !slices.Contains(s.cleared, netip.MustParsePrefix("198.51.100.0/24")) {
		t.Error("the node was not told to clear the counts")
	}
	if diff := cmp.Diff([]string{"203.0.113.7/32"}, collect(t, c.Blocks(t.Context(), client.Filter{}))); diff != "" {
		t.Error(diff)
	}
	_, err = c.Unblock(t.Context(), "198.51.100.0/24", "")
	if p := asProblem(t, err); p.Status != http.StatusNotFound || s.lastAudit().Result != p.Error() {
		t.Errorf("a second unblock: %v, audited %+v", err, s.lastAudit())
	}
}

// What must not be blocked is refused without force (reliability test 13).
func TestForce(t *testing.T) {
	s := serve(t, newNode(), server.Config{})
	c := s.overUnix(t)
	for _, tc := range []struct {
		prefix string
		forced bool // force helps
	}{
		{"127.0.0.1", true},
		{"10.0.0.1", true},
		{"20.0.0.0/15", true},
		{"2001::/31", true},
		{"192.0.2.7", false}, // allowlisted
		{"192.0.2.0/24", false},
		{"0.0.0.0/0", false},
		{"::/0", false},
	} {
		_, err := c.Block(t.Context(), admin.BlockRequest{Prefix: tc.prefix})
		if p := asProblem(t, err); p.Field != "prefix" || p.Status != http.StatusUnprocessableEntity && p.Status != http.StatusBadRequest {
			t.Errorf("%s: %+v", tc.prefix, p)
		}
		if s.lastAudit().Result == "ok" || s.list.Len() != 0 {
			t.Errorf("%s: audited as %+v, %d blocks", tc.prefix, s.lastAudit(), s.list.Len())
		}
		_, err = c.Block(t.Context(), admin.BlockRequest{Prefix: tc.prefix, Force: true})
		if (err == nil) != tc.forced {
			t.Errorf("%s forced: %v", tc.prefix, err)
		}
		if tc.forced {
			if !strings.Contains(s.lastAudit().Detail, "forced") {
				t.Errorf("%s: the audit does not tell of force: %+v", tc.prefix, s.lastAudit())
			}
			if _, err := c.Unblock(t.Context(), tc.prefix, ""); err != nil {
				t.Error(err)
			}
		}
	}
}
