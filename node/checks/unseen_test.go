package checks

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/config"
)

var (
	testBound = bound{limit: 20, width: 5, v4: 32, v6: 64}
	testBegin = time.Unix(1_790_000_000, 0)
)

func unseenBy(b bound) *unseen {
	u := &unseen{}
	u.goBy(b)
	return u
}

func (u *unseen) hear(at time.Time, addr string) {
	u.add(at, &edgeguard.Uncounted{Addr: netip.MustParseAddr(addr), Reason: edgeguard.LineTooLong})
}

// rotated is the i-th of many addresses.
func rotated(i uint32) netip.Addr {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], 0x0a000000+i)
	return netip.AddrFrom4(b)
}

// With few addresses the table is exact: it names those over the bound in the
// window, as a plain list of all requests does.
func TestUnseenIsExactForFew(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	u := unseenBy(testBound)
	type heard struct{ addr, slot uint32 }
	var all []heard
	for at := testBegin; at.Before(testBegin.Add(20 * time.Minute)); at = at.Add(time.Duration(r.IntN(3000)) * time.Millisecond) {
		who := uint32(r.ExpFloat64() * 6)
		if who >= maxUnseen {
			continue
		}
		u.add(at, &edgeguard.Uncounted{Addr: rotated(who)})
		all = append(all, heard{who, u.slot(at)})
		want := map[netip.Addr]uint32{}
		for _, h := range all {
			if u.slot(at)-h.slot < 60 {
				want[rotated(h.addr)]++
			}
		}
		over := 0
		for _, n := range want {
			if n > testBound.limit {
				over++
			}
		}
		got := u.over(at)
		if len(got) != over {
			t.Fatalf("seed %d: at %v %d are over, want %d", seed, at, len(got), over)
		}
		for _, o := range got {
			if want[o.prefix.Addr()] != o.count {
				t.Fatalf("seed %d: %v counts %d, want %d", seed, o.prefix, o.count, want[o.prefix.Addr()])
			}
		}
	}
}

// Whoever rotates addresses to push another one out is told of before that one
// has made twice the bound, whatever the mixture; and the table does not grow.
func TestUnseenCannotBePushedOut(t *testing.T) {
	for _, others := range []int{1, 2, 10, 63, 64, 65, 100, 1000} {
		for _, each := range []int{1, 2, 5, 19} {
			u := unseenBy(testBound)
			next, hidden, told := uint32(0), 0, false
			for ; hidden < 2*int(testBound.limit)+1 && !told; hidden++ {
				for range others {
					for range each {
						u.add(testBegin, &edgeguard.Uncounted{Addr: rotated(next)})
					}
					next++
				}
				u.hear(testBegin, "203.0.113.9")
				_, crowd := u.crowd(testBegin)
				told = crowd || len(u.over(testBegin)) > 0
			}
			if !told {
				t.Errorf("%d others with %d each: %d requests of one address were not reported", others, each, hidden)
			}
			if len(u.places) > maxUnseen {
				t.Errorf("%d are tracked", len(u.places))
			}
			for _, o := range u.over(testBegin) {
				if o.prefix != netip.MustParsePrefix("203.0.113.9/32") {
					t.Errorf("%d others with %d each: %v is blamed for %d", others, each, o.prefix, o.count)
				}
			}
		}
	}
}

func TestUnseenWindow(t *testing.T) {
	u := unseenBy(testBound)
	for range 21 {
		u.hear(testBegin, "2001:db8::1")
	}
	u.hear(testBegin, "203.0.113.9")
	if got := u.over(testBegin); len(got) != 1 || got[0].prefix.String() != "2001:db8::/64" || got[0].count != 21 {
		t.Errorf("%v", got)
	}
	if got := u.over(testBegin.Add(5*time.Minute + 5*time.Second)); got != nil {
		t.Errorf("after the window: %v", got)
	}
	// What lies before the window is of no use: a log that is read late.
	for range 21 {
		u.add(testBegin.Add(time.Hour), &edgeguard.Uncounted{Time: testBegin.Add(time.Minute), Addr: rotated(1)})
	}
	if got := u.over(testBegin.Add(time.Hour)); got != nil {
		t.Errorf("old ones: %v", got)
	}
	u.goBy(bound{limit: 5, width: 1, v4: 32, v6: 64})
	if n, _ := u.crowd(testBegin.Add(time.Hour)); n != 0 {
		t.Errorf("after a reload %d are kept in another width", n)
	}
	var none unseen
	none.hear(testBegin, "203.0.113.9")
	if _, yes := none.crowd(testBegin); yes || none.over(testBegin) != nil {
		t.Error("without a rule there is nothing to compare with")
	}
}

func TestBoundOf(t *testing.T) {
	for _, test := range []struct {
		rules string
		want  bound
	}{
		{"rules: [{name: udp, threshold: 9, match: {kind: udp}}]", bound{}},
		{"rules:\n  - {name: syn, threshold: 50, match: {kind: syn}}\n", bound{}},
		{"rules:\n  - {name: site, threshold: 2000}\n  - {name: login, threshold: 21, window: 10m, key: {address: {v6: 56}}}\n", bound{20, 10, 32, 56}},
		{"rules:\n  - {name: site, threshold: 2000}\n  - {name: trap, threshold: 1, cost: 2, window: 24h}\n", bound{leastUnseen, 60, 32, 64}},
	} {
		c, err := config.Parse("test.yaml", []byte("listen: {auth: ['127.0.0.1:9180']}\n"+test.rules))
		if err != nil {
			t.Fatalf("%s: %v", test.rules, err)
		}
		if got := boundOf(c.Rules); got != test.want {
			t.Errorf("%s: %+v, want %+v", test.rules, got, test.want)
		}
	}
}
