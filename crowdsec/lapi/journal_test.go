package lapi_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"slices"
	"testing"
	"time"

	"edgeguard/crowdsec/lapi"
)

var start = time.Unix(1_800_000_000, 0)

// twin is the slow journal: what is in force, by prefix.
type twin map[netip.Prefix]lapi.Decision

func (t twin) advance(now time.Time) {
	maps.DeleteFunc(t, func(_ netip.Prefix, d lapi.Decision) bool { return !now.Before(d.Until) })
}

// bouncer is one of CrowdSec's as the firewall bouncer is: it ends what it has by itself,
// and ignores what is new about a prefix that it has.
type bouncer struct {
	kernel bool
	mark   uint64
	known  bool
	set    map[netip.Prefix]time.Time
}

// poll does what the server and the bouncer do together.
func (b *bouncer) poll(t *testing.T, j *lapi.Journal, now time.Time, starts bool) {
	t.Helper()
	maps.DeleteFunc(b.set, func(_ netip.Prefix, until time.Time) bool { return !now.Before(until) })
	last, whole := j.Marks()
	after := b.mark
	if starts || !b.known || after < whole {
		after = 0
	}
	if starts {
		b.set = map[netip.Prefix]time.Time{}
	}
	var all []lapi.Change
	room := make([]lapi.Change, 0, 3)
	for done := false; !done; {
		room, after, done = j.Between(after, last, room[:0])
		all = append(all, room...)
	}
	for i, c := range all {
		if i > 0 && c.Seq <= all[i-1].Seq {
			t.Fatalf("change %d comes after %d", c.Seq, all[i-1].Seq)
		}
		if ended, _ := c.EndedAndBegun(b.kernel, starts); ended {
			delete(b.set, c.Prefix)
		}
	}
	for _, c := range all {
		if _, begun := c.EndedAndBegun(b.kernel, starts); begun {
			if _, has := b.set[c.Prefix]; !has {
				b.set[c.Prefix] = c.Until
			}
		}
	}
	b.mark, b.known = last, true
}

// TestBouncersFollow has bouncers poll at random while blocks come, change and go: after
// each poll a bouncer has what is in force, and a kernel bouncer nothing that was learned
// behind a proxy.
func TestBouncersFollow(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 15))
		now, j, model := start, lapi.NewJournal(), twin{}
		bouncers := []*bouncer{{set: map[netip.Prefix]time.Time{}}, {kernel: true, set: map[netip.Prefix]time.Time{}}}
		one := func() lapi.Decision {
			p := netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 0, byte(r.IntN(8)), byte(r.IntN(8))}), 24+r.IntN(9)).Masked()
			if r.IntN(3) == 0 {
				p = netip.MustParsePrefix(fmt.Sprintf("2001:db8:%x::/64", r.IntN(20)))
			}
			return lapi.Decision{Prefix: p, Rule: "site", Until: now.Add(time.Duration(r.IntN(7200)) * time.Second), Proxied: r.IntN(4) == 0}
		}
		for range 600 {
			switch r.IntN(8) {
			case 0, 1, 2:
				d := one()
				j.SetDecision(now, d, true)
				model[d.Prefix] = d
			case 3:
				d := one()
				j.SetDecision(now, d, false)
				delete(model, d.Prefix)
			case 4:
				now = now.Add(time.Duration(r.IntN(900)) * time.Second)
				j.Advance(now)
			case 5:
				if r.IntN(10) == 0 { // the whole list is another
					for range r.IntN(20) {
						d := one()
						model[d.Prefix] = d
					}
					maps.DeleteFunc(model, func(netip.Prefix, lapi.Decision) bool { return r.IntN(3) == 0 })
					j.Replace(now, maps.Values(model), func(func(lapi.Decision) bool) {})
				}
			default:
				b := bouncers[r.IntN(2)]
				b.poll(t, j, now, r.IntN(20) == 0)
				compare(t, seed, now, model, b)
			}
			model.advance(now)
			if live, _ := j.Count(); live != len(model) {
				t.Fatalf("seed %d: %d decisions are live, want %d", seed, live, len(model))
			}
			containing(t, j, now, model, netip.PrefixFrom(one().Prefix.Addr(), 32))
		}
	}
}

func compare(t *testing.T, seed uint64, now time.Time, model twin, b *bouncer) {
	t.Helper()
	model.advance(now)
	for p, d := range model {
		until, has := b.set[p]
		if b.kernel && d.Proxied {
			if has {
				t.Fatalf("seed %d: the kernel bouncer has %s, learned behind a proxy", seed, p)
			}
			continue
		}
		if off := until.Sub(d.Until).Abs(); !has || off >= time.Second {
			t.Fatalf("seed %d: a bouncer (kernel %t) has %s until %v (%t), want %v", seed, b.kernel, p, until, has, d.Until)
		}
	}
	for p := range b.set {
		if _, ok := model[p]; !ok {
			t.Fatalf("seed %d: a bouncer has %s, which is not in force", seed, p)
		}
	}
}

func containing(t *testing.T, j *lapi.Journal, now time.Time, model twin, p netip.Prefix) {
	t.Helper()
	if p.Addr().Is6() {
		p = netip.PrefixFrom(p.Addr(), 128)
	}
	want := 0
	for outer := range model {
		if outer.Bits() <= p.Bits() && outer.Contains(p.Addr()) {
			want++
		}
	}
	if got := j.Containing(now, p); len(got) != want {
		t.Fatalf("%s is in %d decisions, want %d", p, len(got), want)
	}
}

// TestForgotten: what ended is kept until no bouncer can have it, for an hour more, and
// then a bouncer that did not poll for so long gets everything.
func TestForgotten(t *testing.T) {
	j := lapi.NewJournal()
	d := lapi.Decision{Prefix: netip.MustParsePrefix("192.0.2.7/32"), Until: start.Add(time.Hour)}
	j.SetDecision(start, d, true)
	j.SetDecision(start.Add(time.Minute), d, false)
	j.Advance(start.Add(2*time.Hour - time.Second))
	if live, ended := j.Count(); live != 0 || ended != 1 {
		t.Fatalf("%d live and %d ended, want 0 and 1", live, ended)
	}
	if _, whole := j.Marks(); whole != 0 {
		t.Fatalf("whole from %d on, want 0", whole)
	}
	j.Advance(start.Add(2 * time.Hour))
	if live, ended := j.Count(); live != 0 || ended != 0 {
		t.Fatalf("%d live and %d ended, want none", live, ended)
	}
	if last, whole := j.Marks(); whole != last {
		t.Fatalf("whole from %d on, want %d", whole, last)
	}
}

// TestSeeded: a block that was taken back before the journal began is told as ended, and
// one whose time is over is not.
func TestSeeded(t *testing.T) {
	j := lapi.NewJournal()
	lifted := lapi.Decision{Prefix: netip.MustParsePrefix("192.0.2.7/32"), Until: start.Add(time.Hour)}
	over := lapi.Decision{Prefix: netip.MustParsePrefix("192.0.2.8/32"), Until: start}
	again := lapi.Decision{Prefix: netip.MustParsePrefix("192.0.2.9/32"), Until: start.Add(time.Hour)}
	j.Replace(start, slices.Values([]lapi.Decision{again}), slices.Values([]lapi.Decision{lifted, over, again}))
	all, _, _ := j.Between(0, 10, make([]lapi.Change, 0, 10))
	if len(all) != 2 || !all[0].Live || all[0].Prefix != again.Prefix || all[1].Live || all[1].Prefix != lifted.Prefix {
		t.Fatalf("changes %+v", all)
	}
}

// many returns so many decisions.
func many(n int) func(func(lapi.Decision) bool) {
	return func(yield func(lapi.Decision) bool) {
		for i := range n {
			p := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 32)
			if !yield(lapi.Decision{Prefix: p, Rule: "site", Until: start.Add(time.Hour)}) {
				return
			}
		}
	}
}

func none(func(lapi.Decision) bool) {}

// TestMostEnded: a hundred thousand that end together are all told, and no more than
// that and what was in force are kept.
func TestMostEnded(t *testing.T) {
	const n = 150_000
	j := lapi.NewJournal()
	j.Replace(start, many(n), none)
	last, _ := j.Marks()
	j.Replace(start, none, none)
	if _, whole := j.Marks(); whole > last {
		t.Error("some that ended together were forgotten")
	}
	for round := range 3 { // others come and go
		for i := range 50_000 {
			p := netip.PrefixFrom(netip.AddrFrom4([4]byte{11, byte(i >> 8), byte(i), byte(round)}), 32)
			j.SetDecision(start, lapi.Decision{Prefix: p, Until: start.Add(time.Minute)}, true)
			j.SetDecision(start, lapi.Decision{Prefix: p}, false)
		}
	}
	if _, ended := j.Count(); ended > n {
		t.Errorf("%d that ended are kept, want at most %d", ended, n)
	}
	if _, whole := j.Marks(); whole == 0 {
		t.Error("who has not heard of what was forgotten does not get everything")
	}
}

// TestMemory holds the journal's size. It is not exact: the runtime rounds up.
func TestMemory(t *testing.T) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	j := lapi.NewJournal()
	j.Replace(start, many(100_000), none)
	runtime.GC()
	runtime.ReadMemStats(&after)
	size := float64(after.HeapAlloc-before.HeapAlloc) / 1e6
	t.Logf("100,000 decisions take %.1f MB", size)
	if size > 20 {
		t.Errorf("100,000 decisions take %.1f MB, want at most 20", size)
	}
	runtime.KeepAlive(j)
}

func BenchmarkReplace100k(b *testing.B) {
	for b.Loop() {
		lapi.NewJournal().Replace(start, many(100_000), none)
	}
}

func BenchmarkSetAmong100k(b *testing.B) {
	j := lapi.NewJournal()
	j.Replace(start, many(100_000), none)
	p := netip.MustParsePrefix("192.0.2.7/32")
	for i := 0; b.Loop(); i++ {
		j.SetDecision(start, lapi.Decision{Prefix: p, Until: start.Add(time.Hour + time.Duration(i)*time.Second)}, true)
	}
}
