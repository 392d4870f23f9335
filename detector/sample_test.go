package detector_test

import (
	"math"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/detector"
	"edgeguard/internal/fulltest"
	"edgeguard/rules"
	"edgeguard/shard"
)

// everyone counts every address.
func everyone(netip.Addr) bool { return true }

// sampler is a detector whose rule nobody crosses.
func sampler(t testing.TB, previous *detector.Detector, memory *shard.Memory, list *blocklist.List) *detector.Detector {
	t.Helper()
	set, problems := rules.Compile([]rules.Spec{{Name: "site", Threshold: 60000, Guard: "1"}})
	if problems != nil {
		t.Fatal(problems)
	}
	return detector.New(detector.Config{
		Rules: set, Memory: memory, List: list, Seed: 1, Previous: previous,
	})
}

func ask(d *detector.Detector, at time.Time, addr netip.Addr) {
	event := edgeguard.Event{Time: at, Addr: addr, Kind: edgeguard.KindRequest, Verified: edgeguard.KindRequest}
	d.Decide(at, &event)
}

// asked is one request of the oracle.
type asked struct {
	at   time.Time
	addr netip.Addr
}

// The shares of a sample are those of the requests of the last five minutes, to
// what its doc says: six standard errors of its least n, whatever was drawn.
func TestSampleOracle(t *testing.T) {
	fulltest.Only(t)
	seed := uint64(time.Now().UnixNano())
	rng := rand.New(rand.NewPCG(seed, seed))
	for round := range 6 {
		d := sampler(t, nil, shard.NewMemory(16<<20), blocklist.New(blocklist.Config{}))
		now := time.Unix(1_800_000_000+rng.Int64N(1000), 0)
		// Some clients send much more than others.
		var all []asked
		lasts := time.Duration(100+rng.IntN(600)) * time.Second
		requests := 4000 + rng.IntN(100_000)
		skew := 1 + 3*rng.Float64()
		for i := range requests {
			n := int(math.Pow(rng.Float64(), skew) * 5000)
			addr := netip.AddrFrom4([4]byte{198, 18, byte(n >> 8), byte(n)})
			if n%5 == 0 {
				addr = netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, byte(n >> 8), byte(n), 15: 1})
			}
			all = append(all, asked{now.Add(lasts * time.Duration(i) / time.Duration(requests)), addr})
		}
		for _, one := range all {
			ask(d, one.at, one.addr)
		}
		now = now.Add(lasts)
		sample := d.Sample(now)
		least := math.Min(240, recent(all, now)/8)
		for _, text := range []string{"198.18.0.0/15", "198.18.0.0/32", "198.18.0.0/24", "198.18.1.0/24", "198.18.16.0/20", "2001:db8::/32", "2001:db8:0::/48", "203.0.113.0/24", "0.0.0.0/0"} {
			prefix := netip.MustParsePrefix(text)
			want := share(all, now, prefix)
			got := sample.Share(prefix, everyone)
			if bound := 6*math.Sqrt(want*(1-want)/least) + 0.01; math.Abs(got-want) > bound {
				t.Errorf("seed %d, round %d: %s sent %.3f of %d requests in %v, by the sample %.3f", seed, round, text, want, requests, lasts, got)
			}
		}
		if got := sample.ShareOf(everyone); math.Abs(got-1) > 1e-9 {
			t.Errorf("seed %d: all sent %v", seed, got)
		}
		if got := sample.ShareOf(func(a netip.Addr) bool { return a.Is6() }); got != sample.Share(netip.MustParsePrefix("::/0"), everyone) {
			t.Errorf("seed %d: IPv6 sent %v", seed, got)
		}
	}
}

// Clients that come in the order of their addresses, as in a scan or a test, are sampled
// as evenly as others: the mean square of the error is that of the 256 addresses kept.
// Crowds that draw alike choose alike in time, and so in address.
func TestSampleOfASweep(t *testing.T) {
	fulltest.Only(t)
	const clients, networks, sweeps = 12_000, 16, 200
	d := sampler(t, nil, shard.NewMemory(16<<20), blocklist.New(blocklist.Config{}))
	now, squares, want := time.Unix(1_800_000_000, 0), 0.0, networks*256./clients
	for range sweeps {
		now = now.Add(5 * time.Minute) // a sample of this sweep alone
		for k := range clients {
			ask(d, now, netip.AddrFrom4([4]byte{198, 18, byte(k >> 8), byte(k)}))
		}
		miss := d.Sample(now).Share(netip.MustParsePrefix("198.18.16.0/20"), everyone) - want
		squares += miss * miss
	}
	got, most := math.Sqrt(squares/sweeps), math.Sqrt(want*(1-want)/256)
	if t.Logf("standard error %.4f, of an even choice %.4f", got, most); got > 1.2*most {
		t.Errorf("standard error %.4f, want %.4f", got, most)
	}
}

// recent is how many requests are in the slots that a sample looks at.
func recent(all []asked, now time.Time) (total float64) {
	for _, one := range all {
		if inSample(one, now) {
			total++
		}
	}
	return total
}

// share is the part of them that came from prefix.
func share(all []asked, now time.Time, prefix netip.Prefix) float64 {
	in := 0.0
	for _, one := range all {
		if inSample(one, now) && prefix.Contains(one.addr) {
			in++
		}
	}
	return in / recent(all, now)
}

func inSample(one asked, now time.Time) bool { return now.Unix()/5-one.at.Unix()/5 < 60 }

func TestSampleSaysNothingOfLittle(t *testing.T) {
	d := sampler(t, nil, shard.NewMemory(16<<20), blocklist.New(blocklist.Config{}))
	now := time.Unix(1_800_000_000, 0)
	visitor := netip.MustParseAddr("203.0.113.9")
	for range 900 {
		ask(d, now, visitor)
	}
	if got := d.Sample(now).Share(netip.MustParsePrefix("203.0.113.9/32"), everyone); got != 0 {
		t.Errorf("the one visitor of a quiet site: %v", got)
	}
	for range 300 {
		ask(d, now, visitor)
	}
	if got := d.Sample(now).Share(netip.MustParsePrefix("203.0.113.0/24"), everyone); got != 1 {
		t.Errorf("of more: %v", got)
	}
	if got := d.Sample(now).Share(netip.Prefix{}, everyone); got != 0 {
		t.Errorf("of nothing: %v", got)
	}
	if got := d.Sample(now.Add(5*time.Minute)).Share(netip.MustParsePrefix("203.0.113.0/24"), everyone); got != 0 {
		t.Errorf("five minutes later: %v", got)
	}
	if got := d.Sample(now.Add(-5*time.Second)).Share(netip.MustParsePrefix("203.0.113.0/24"), everyone); got != 0 {
		t.Errorf("before it: %v", got)
	}
}

// Who is spared is in the sample as everybody is, what is denied too, and a reload
// changes nothing.
func TestSampleOfSparedAndDenied(t *testing.T) {
	memory := shard.NewMemory(16 << 20)
	list := blocklist.New(blocklist.Config{Allow: []netip.Prefix{netip.MustParsePrefix("198.18.0.0/16")}})
	d := sampler(t, nil, memory, list)
	now := time.Unix(1_800_000_000, 0)
	if _, err := list.Merge(edgeguard.Block{Prefix: netip.MustParsePrefix("203.0.0.0/20"), Since: now, Until: now.Add(time.Hour), Version: 1}, now); err != nil {
		t.Fatal(err)
	}
	for range 2000 {
		ask(d, now, netip.MustParseAddr("198.18.0.1"))
	}
	for i := range 2000 {
		ask(d, now, netip.AddrFrom4([4]byte{203, 0, byte(i >> 4 & 15), byte(i)}))
	}
	next := sampler(t, d, memory, list)
	d.Close(next)
	if s := next.Stats(); s.Denied != 2000 || s.Spared != 2000 {
		t.Fatalf("%+v", s)
	}
	half := next.Sample(now).Share(netip.MustParsePrefix("203.0.0.0/16"), everyone)
	if math.Abs(half-0.5) > 0.05 {
		t.Errorf("half of all: %v", half)
	}
	if got := next.Sample(now).Share(netip.MustParsePrefix("198.18.0.0/16"), everyone); math.Abs(got-0.5) > 0.05 {
		t.Errorf("the spared: %v", got)
	}
	if got := next.Sample(now).Share(netip.MustParsePrefix("203.0.0.0/16"), func(netip.Addr) bool { return false }); got != 0 {
		t.Errorf("none of them counts: %v", got)
	}
}

// With little traffic, the sample is of the last thousand requests of a day: the newest,
// and none of before them. A hundred are enough.
func TestLongSample(t *testing.T) {
	d := sampler(t, nil, shard.NewMemory(16<<20), blocklist.New(blocklist.Config{}))
	now := time.Unix(1_800_000_000, 0)
	few := netip.MustParsePrefix("203.0.113.0/24")
	for i := range 90 {
		ask(d, now, netip.AddrFrom4([4]byte{203, 0, 113, byte(i)}))
	}
	if s := d.LongSample(now); s.Enough() || s.ShareOf(everyone) != 0 {
		t.Errorf("of ninety: %v", s.ShareOf(everyone))
	}
	for i := range 30 {
		ask(d, now, netip.AddrFrom4([4]byte{203, 0, 113, byte(i)}))
	}
	for _, later := range []time.Duration{0, time.Hour, 24*time.Hour - 10*time.Second} {
		if s := d.LongSample(now.Add(later)); !s.Enough() || s.Share(few, everyone) != 1 {
			t.Errorf("of 120, %v later: %v", later, s.Share(few, everyone))
		}
	}
	if d.LongSample(now.Add(25*time.Hour)).Enough() || d.Sample(now).Enough() {
		t.Error("a day later there is a sample, or of five minutes")
	}
	for i := range 3000 {
		ask(d, now.Add(time.Duration(i)*20*time.Second), netip.AddrFrom4([4]byte{198, 18, byte(i >> 8), byte(i)}))
	}
	now = now.Add(3000 * 20 * time.Second)
	if s := d.LongSample(now); s.Share(few, everyone) != 0 || s.Share(netip.MustParsePrefix("198.18.8.0/21"), everyone) < 0.75 {
		t.Errorf("of the last thousand, %.2f came from the last 952", s.Share(netip.MustParsePrefix("198.18.8.0/21"), everyone))
	}
}
