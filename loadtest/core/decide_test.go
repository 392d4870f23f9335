package core

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/detector"
	"edgeguard/rules"
	"edgeguard/shard"
)

// The figure: two rules, an allowlist and a blocklist of 100,000, a million
// keys, none of which is on a list.
const (
	keyCount  = 1 << 20
	listed    = 100_000
	batchSize = 64
	budget    = 1 << 30
)

// width is the slot of the default window of five minutes, in seconds.
const width = 5

// start is the time of the first event, the beginning of a slot.
var start = time.Unix(1780358400, 0)

// address gives the n-th key, in 64.0.0.0/2: the lists are elsewhere.
func address(n uint32) netip.Addr {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], n*0x9e3779b1%(1<<30)|1<<30)
	return netip.AddrFrom4(b)
}

// exempt gives prefixes of the upper half of the address space.
func exempt(rng *rand.Rand) netip.Prefix {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], rng.Uint32()|1<<31)
	p, _ := netip.AddrFrom4(b).Prefix(24 + rng.IntN(9))
	return p
}

func newList(tb testing.TB) *blocklist.List {
	rng := rand.New(rand.NewPCG(1, 4))
	var allow []netip.Prefix
	for range listed {
		allow = append(allow, exempt(rng))
	}
	list := blocklist.New(blocklist.Config{Allow: allow})
	for n := range uint32(listed) {
		addr := netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)})
		block := edgeguard.Block{Prefix: netip.PrefixFrom(addr, 32), Rule: "manual", Since: start, Until: start.Add(24 * time.Hour), Version: 1}
		if _, err := list.Merge(block, start); err != nil {
			tb.Fatal(err)
		}
	}
	return list
}

func newDetector(tb testing.TB, wide rules.Wide) *detector.Detector {
	set, problems := rules.Compile([]rules.Spec{
		{Name: "site", Threshold: 2000, Wide: wide},
		{Name: "login", Threshold: 20, Match: rules.Match{Method: []string{"POST"}, Path: []string{"/wp-login.php", "/xmlrpc.php"}}, Wide: wide},
	})
	if len(problems) > 0 {
		tb.Fatal(problems)
	}
	return detector.New(detector.Config{Rules: set, Memory: shard.NewMemory(budget), List: newList(tb), Node: "bench", Seed: 0x5eed})
}

// requests draws events, each key as likely as any other (xorshift64*); one in
// 256 is a login.
type requests struct {
	state   uint64
	event   edgeguard.Event
	address func(n uint32) netip.Addr
}

func newRequests() *requests {
	return &requests{1, edgeguard.Event{Time: start, Kind: edgeguard.KindRequest, Verified: edgeguard.KindRequest,
		Known: edgeguard.FieldHost | edgeguard.FieldMethod | edgeguard.FieldPath, Host: "harbour.example"}, address}
}

func (r *requests) key() uint32 {
	r.state ^= r.state >> 12
	r.state ^= r.state << 25
	r.state ^= r.state >> 27
	return uint32(r.state * 0x2545f4914f6cdd1d >> 44)
}

func (r *requests) next() *edgeguard.Event {
	r.event.Addr = r.address(r.key())
	r.event.Method, r.event.Path = "GET", "/product/item-001/"
	if r.state&255 == 0 {
		r.event.Method, r.event.Path = "POST", "/wp-login.php"
	}
	return &r.event
}

// BenchmarkDecide is a verdict, with all keys known.
func BenchmarkDecide(b *testing.B) {
	benchDecide(b, newDetector(b, rules.WideDefault), newRequests())
}

// BenchmarkDecideV6 is the same for IPv6 with and without the counts of the
// /56 and the /48 around each key: of 16 full /48s, and, as bad as it gets, of
// keys that are each alone in theirs.
func BenchmarkDecideV6(b *testing.B) {
	for _, wide := range []rules.Wide{rules.WideOff, rules.WideReport} { // what is reported refuses nobody
		for _, keys := range []struct {
			name    string
			address func(uint32) netip.Addr
		}{{"dense", dense}, {"alone", alone}} {
			b.Run(keys.name+"/wide="+wide.String(), func(b *testing.B) {
				requests := newRequests()
				requests.address = keys.address
				benchDecide(b, newDetector(b, wide), requests)
			})
		}
	}
}

// dense gives the n-th /64 of 16 /48s, and alone that of a /48 of its own.
func dense(n uint32) netip.Addr { return address64(uint64(n * 0x9e3779b1 % keyCount)) }
func alone(n uint32) netip.Addr { return address64(uint64(n*0x9e3779b1%keyCount) << 16) }

func address64(n uint64) netip.Addr {
	b := [16]byte{15: 1}
	binary.BigEndian.PutUint64(b[:], 0x2a<<56|n)
	return netip.AddrFrom16(b)
}

func benchDecide(b *testing.B, d *detector.Detector, requests *requests) {
	for n := range uint32(keyCount) {
		requests.event.Addr, requests.event.Method, requests.event.Path = requests.address(n), "GET", "/"
		d.Decide(start, &requests.event)
	}
	b.Run("single", func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			if v := d.Decide(start, requests.next()); v.Action != edgeguard.ActionPass {
				b.Fatalf("%+v", v)
			}
		}
	})
	b.Run("batch64", func(b *testing.B) {
		b.ReportAllocs()
		var nows [batchSize]time.Time
		var events [batchSize]edgeguard.Event
		var verdicts [batchSize]edgeguard.Verdict
		for i := range nows {
			nows[i] = start
		}
		for i := 0; i < b.N; i += batchSize {
			for k := range events {
				events[k] = *requests.next()
			}
			d.DecideBatch(nows[:], events[:], verdicts[:])
		}
	})
}

// BenchmarkCount is one count on the same keys in the same order: what a
// verdict is compared with.
func BenchmarkCount(b *testing.B) {
	table := shard.New(shard.NewMemory(budget), shard.Config{Seed: 0x5eed})
	slot := uint32(start.Unix() / width)
	for n := range uint32(keyCount) {
		table.Add(&shard.Op{Addr: address(n), Now: slot, Slot: slot, Cost: 1})
	}
	requests := newRequests()
	b.Run("single", func(b *testing.B) {
		b.ReportAllocs()
		var op shard.Op
		for range b.N {
			op.Addr = requests.next().Addr
			op.Now, op.Slot, op.Cost = slot, slot, 1
			table.Add(&op)
		}
	})
	b.Run("batch64", func(b *testing.B) {
		b.ReportAllocs()
		var ops [batchSize]shard.Op
		var out [batchSize]shard.Count
		for i := 0; i < b.N; i += batchSize {
			for k := range ops {
				ops[k].Addr = requests.next().Addr
				ops[k].Now, ops[k].Slot, ops[k].Cost = slot, slot, 1
			}
			table.AddBatch(ops[:], out[:])
		}
	})
}

// What the benchmarks drive must be what they say: every event passes, and is
// counted under its own key.
func TestDecideCountsEveryKeyApart(t *testing.T) {
	d := newDetector(t, rules.WideDefault)
	requests := newRequests()
	for n := range uint32(5000) {
		requests.event.Addr, requests.event.Method, requests.event.Path = address(n), "POST", "/wp-login.php"
		if v := d.Decide(start, &requests.event); v.Action != edgeguard.ActionPass {
			t.Fatalf("the first event of key %d: %+v", n, v)
		}
	}
	for range 18 {
		d.Decide(start, &requests.event) // up to the limit of 19
	}
	if v := d.Decide(start, &requests.event); v.Rule != "login" || v.Count != 20 {
		t.Fatalf("the twentieth login: %+v", v)
	}
}
