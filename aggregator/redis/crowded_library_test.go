package redis

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/aggregator"
)

// crowdedRecord is a record of one of a few networks, some of which have many.
func crowdedRecord(t testing.TB, r *rand.Rand, now time.Time) (prefix, text string) {
	t.Helper()
	crowd := r.IntN(4) * r.IntN(4) // small ones are more
	var p netip.Prefix
	switch r.IntN(3) {
	case 0:
		p = netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(crowd), 0, byte(r.IntN(30))}), 32)
	case 1:
		p = netip.MustParsePrefix(fmt.Sprintf("2001:db8:%x:%x::/64", crowd, r.IntN(30)))
	case 2: // many /48 of few /32
		p = netip.MustParsePrefix(fmt.Sprintf("2001:%x:%x::/48", 16+crowd, r.IntN(60)))
	}
	pick := func(s ...string) string { return s[r.IntN(len(s))] }
	rule := pick("site", "site", "login", "trap", "trap")
	if r.IntN(12) == 0 {
		rule = edgeguard.ManualRule
	}
	one := aggregator.Record{Block: edgeguard.Block{
		Prefix: p, Rule: rule, Origin: pick("edge-1", "edge-2"), Version: uint64(1 + r.IntN(2)),
		Lifted: r.IntN(20) == 0, Allow: r.IntN(20) == 0,
		Since: now.Add(-time.Duration(r.IntN(20)) * time.Minute), Until: now.Add(time.Duration(r.IntN(120)-4) * time.Minute),
	}, Forced: r.IntN(20) == 0, Retention: time.Hour}
	text, err := one.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return p.String(), text
}

// TestLibraryMakesRoomAsReference: at small bounds, where the library's sample
// is the whole list, both evict the same records and announce the same.
func TestLibraryMakesRoomAsReference(t *testing.T) {
	for _, full := range []int{1, 6, 40, 120} {
		t.Run(fmt.Sprint(full), func(t *testing.T) {
			t.Parallel()
			seed := rand.Uint64()
			r := rand.New(rand.NewPCG(seed, 0))
			b := newBothOf(t, fmt.Sprintf("seed %d", seed), full)
			names, now := newNames("t", 1), time.Now().Add(-time.Second)
			answers := map[string]int{}
			for range 60 {
				args := []string{strconv.FormatInt(now.UnixMilli(), 10)}
				for range 1 + r.IntN(12) {
					prefix, text := crowdedRecord(t, r, now)
					args = append(args, prefix, text, randomMAC(r))
				}
				for _, a := range b.call(now, "publish", names.publishKeys(), args).([]any) {
					answers[fmt.Sprint(a)]++
				}
				if held := len(b.reference.Blocks(names.blocks)); held > 2*full {
					b.fail("%d records stand", held)
				}
			}
			b.compareStream(names)
			gone := 0
			for _, c := range b.reference.Stream(names.blocks) {
				if c.Gone {
					gone++
				}
			}
			t.Logf("%d went, answers %v", gone, answers)
			if full >= 40 && gone == 0 || // a short list may be full of operators' words
				answers["2"] == 0 {
				t.Errorf("%d went, answers %v", gone, answers)
			}
			b.compareBlocks(names)
		})
	}
}

// TestNetworksOfPrefixes: text that is the same in one network, and only there.
func TestNetworksOfPrefixes(t *testing.T) {
	b := newBothOf(t, "networks", 2)
	names, now := newNames("t", 1), time.Now().Add(-time.Second)
	for i, prefix := range []string{"::/64", "::1/128", "2001::/32", "2001:db8::1/128", "2001:db8:1::/48", "2001:db8:1:2:3:4:5:6/128",
		"1:2:3::/64", "", "x", "1.2", "1.2.3.4/32", ":::", "%d+%.", strings.Repeat(":", 600), strings.Repeat("1.", 600)} {
		r := aggregator.Record{Block: edgeguard.Block{
			Rule: "site", Version: 1, Since: now.Add(time.Duration(i) * time.Second), Until: now.Add(time.Hour),
		}}
		text, err := r.Encode()
		if err != nil {
			t.Fatal(err)
		}
		b.call(now, "publish", names.publishKeys(), []string{strconv.FormatInt(now.UnixMilli(), 10), prefix, text, ""})
	}
	b.compareStream(names)
}
