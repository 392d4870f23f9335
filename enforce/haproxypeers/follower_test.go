package haproxypeers

import (
	"iter"
	"net/netip"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/enforce"
	"edgeguard/haproxy"
	"edgeguard/haproxy/peers"
)

var epoch = time.Unix(1_700_000_000, 0)

func entry(prefix string, lasts time.Duration) enforce.Entry {
	return enforce.Entry{Prefix: netip.MustParsePrefix(prefix), Until: epoch.Add(lasts)}
}

func (e *Teacher) change(t *testing.T, now time.Time, add []enforce.Entry, remove ...string) {
	t.Helper()
	var gone []netip.Prefix
	for _, p := range remove {
		gone = append(gone, netip.MustParsePrefix(p))
	}
	if err := e.Apply(t.Context(), now, add, gone); err != nil {
		t.Fatal(err)
	}
}

// drain takes all that is due, in batches of n, and returns it with when to ask again.
func drain(t *testing.T, f *Follower, now time.Time, n int) (all []peers.Taught, next time.Time) {
	t.Helper()
	for range 1_000_000 {
		var some []peers.Taught
		some, next = f.Take(now, make([]peers.Taught, 0, n))
		all = append(all, some...)
		if next.After(now) {
			return all, next
		}
	}
	t.Fatal("there is always more")
	return nil, now
}

func taught(all []peers.Taught) (values map[haproxy.BlockKey]uint32) {
	values = make(map[haproxy.BlockKey]uint32)
	for _, e := range all {
		values[haproxy.BlockKey{Table: e.Table, Addr: e.Key}] = e.Value
	}
	return values
}

func key(table int, addr string) haproxy.BlockKey {
	return haproxy.BlockKey{Table: table, Addr: netip.MustParseAddr(addr)}
}

// A change is due as soon as it is made, and once; a block is taught with its rest, and
// lifted at its end and when it is removed.
func TestChanges(t *testing.T) {
	e := New()
	f := e.NewFollower()
	drain(t, f, epoch, 1)
	e.change(t, epoch, []enforce.Entry{entry("192.0.2.1/32", time.Hour), entry("2001:db8::/64", time.Minute)})
	<-f.Due()
	all, next := drain(t, f, epoch.Add(time.Second), 1)
	if len(all) != 2 || taught(all)[key(1, "192.0.2.1")] != 1 || taught(all)[key(1, "2001:db8::")] != 1 {
		t.Fatal(all)
	}
	for _, n := range all {
		if rest := map[bool]time.Duration{true: 280 * time.Second, false: 59 * time.Second}[n.Key.Is4()]; n.TTL != rest { // of its table, or its own
			t.Errorf("%v is taught with %v", n, n.TTL)
		}
	}
	if next.After(epoch.Add(time.Minute)) {
		t.Errorf("the next look is %v later, after a block has ended", next.Sub(epoch))
	}
	if all, _ := drain(t, f, epoch.Add(time.Second), 1); len(all) != 0 {
		t.Errorf("again: %v", all)
	}
	if all, _ := drain(t, f, epoch.Add(time.Minute), 10); taught(all)[key(1, "2001:db8::")] != 0 || len(all) == 0 {
		t.Errorf("at its end: %v", all)
	}
	e.change(t, epoch.Add(time.Minute), nil, "192.0.2.1/32", "198.51.100.0/24")
	if all, _ := drain(t, f, epoch.Add(time.Minute), 10); len(all) != 1 || all[0].Value != 0 {
		t.Errorf("removed: %v", all)
	}
	e.change(t, epoch.Add(time.Minute), []enforce.Entry{entry("192.0.2.1/32", time.Hour)})
	e.change(t, epoch.Add(time.Minute), []enforce.Entry{entry("192.0.2.1/32", time.Hour)})
	if all, _ := drain(t, f, epoch.Add(time.Minute), 10); len(all) != 1 || all[0].Value != 1 {
		t.Errorf("blocked again: %v", all)
	}
}

// What is spared is taught before the block around it and lifted after it, each time, and
// its time to live is longer, and so is its table's.
func TestSparedFirst(t *testing.T) {
	e := New()
	f := e.NewFollower()
	block := netip.MustParsePrefix("2001:db8::/64")
	exempt := []netip.Prefix{netip.MustParsePrefix("2001:db8::7/128"), netip.MustParsePrefix("2001:db8::9/128")}
	var cut []enforce.Entry
	for b := range enforce.Around(single(block), exempt) {
		cut = append(cut, enforce.Entry{Prefix: b.Prefix, Until: epoch.Add(time.Hour)})
	}
	if err := e.Replace(t.Context(), epoch, cut); err != nil {
		t.Fatal(err)
	}
	spared := map[haproxy.BlockKey]uint32{}
	for _, now := range []time.Time{epoch, epoch.Add(Again), epoch.Add(2 * Again)} {
		all, _ := drain(t, f, now, 1)
		clear(spared)
		for _, n := range all {
			if n.Table == 1 && len(spared) != 2 {
				t.Errorf("%v: the block is taught before what is spared in it: %v", now.Sub(epoch), all)
			}
			if n.Value == haproxy.Spared {
				spared[haproxy.BlockKey{Table: n.Table, Addr: n.Key}] = n.Value
				if n.TTL != haproxy.BlockTables()[0].Expire {
					t.Errorf("a spared key is taught for %v", n.TTL)
				}
			}
		}
		if taught(all)[key(1, "2001:db8::")] != haproxy.BlockedGPT {
			t.Errorf("%v: %v", now.Sub(epoch), all)
		}
	}
	if err := e.Replace(t.Context(), epoch, nil); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		all, _ := drain(t, f, epoch, 1)
		lifted := false
		for _, n := range all {
			lifted = lifted || n.Table == 1
			if n.Value != 0 || spared[haproxy.BlockKey{Table: n.Table, Addr: n.Key}] != 0 && !lifted {
				t.Errorf("what is spared is lifted before the block: %v", all)
			}
		}
		if !lifted {
			t.Errorf("the block is not lifted: %v", all)
		}
		f.Again() // the same for the whole, which has what was lifted
	}
}

// Everything is taught again within two minutes, in even steps, whatever the number.
func TestAgainEvenly(t *testing.T) {
	for _, n := range []int{1, 10, 1000, 100_000} {
		e := New()
		f := e.NewFollower()
		if err := e.Replace(t.Context(), epoch, many(n)); err != nil {
			t.Fatal(err)
		}
		all, next := drain(t, f, epoch, 0)
		if len(all) != n {
			t.Fatalf("%d of %d at first", len(all), n)
		}
		last := make(map[netip.Addr]time.Time)
		for _, b := range all {
			last[b.Key] = epoch
		}
		greatest, looks := 0, 0
		for now := next; now.Before(epoch.Add(3 * Again)); now = next {
			all, next = drain(t, f, now, 0)
			greatest, looks = max(greatest, len(all)), looks+1
			for _, b := range all {
				if away := now.Sub(last[b.Key]); away > Again+step {
					t.Fatalf("%d: %v was not taught for %v", n, b.Key, away)
				}
				last[b.Key] = now
			}
		}
		for addr, at := range last {
			if epoch.Add(3*Again).Sub(at) > Again+step {
				t.Fatalf("%d: %v was last taught after %v", n, addr, at.Sub(epoch))
			}
		}
		if most := 2 + 2*n*int(step)/int(Again); greatest > most || looks > 3*int(Again/step)+3 {
			t.Errorf("%d: %d in one step, at most %d were expected; %d looks", n, greatest, most, looks)
		}
	}
}

// A HAProxy that was away has what was lifted meanwhile; after five minutes it has not.
func TestLiftedWhileAway(t *testing.T) {
	e := New()
	e.change(t, epoch, []enforce.Entry{entry("192.0.2.1/32", time.Hour), entry("192.0.2.2/32", time.Hour)})
	e.change(t, epoch, nil, "192.0.2.1/32")
	for _, c := range []struct {
		later time.Duration
		want  int
	}{{time.Minute, 2}, {5 * time.Minute, 1}} {
		f := e.NewFollower()
		drain(t, f, epoch.Add(c.later), 0) // what is over goes
		f.Again()
		all, _ := drain(t, f, epoch.Add(c.later), 0)
		if v := taught(all); len(v) != c.want || v[key(1, "192.0.2.1")] != 0 || v[key(1, "192.0.2.2")] != 1 {
			t.Errorf("after %v: %v", c.later, all)
		}
		f.Leave()
	}
}

// What HAProxy has of an earlier run, and should not have, is lifted; what it has rightly
// is not taught again.
func TestHolds(t *testing.T) {
	e := New()
	e.change(t, epoch, []enforce.Entry{entry("192.0.2.1/32", time.Hour)})
	f := e.NewFollower()
	drain(t, f, epoch, 0)
	for _, addr := range []string{"192.0.2.1", "::ffff:192.0.2.2", "2001:db8::"} {
		f.Holds(epoch, 1, netip.MustParseAddr(addr), haproxy.BlockedGPT)
	}
	f.Holds(epoch, 0, netip.MustParseAddr("2001:db8::7"), haproxy.Spared)
	f.Holds(epoch, 1, netip.MustParseAddr("192.0.2.9"), 0)
	all, _ := drain(t, f, epoch, 0)
	if v := taught(all); len(v) != 3 || v[key(1, "192.0.2.2")]+v[key(1, "2001:db8::")]+v[key(0, "2001:db8::7")] != 0 || all[2].Table != 0 {
		t.Errorf("%v", all)
	}
	f.Holds(epoch, 1, netip.MustParseAddr("192.0.2.1"), 0)
	if all, _ := drain(t, f, epoch, 0); len(all) != 1 || all[0].Value != 1 {
		t.Errorf("HAProxy lost a block: %v", all)
	}
}

// Places are used again, so that memory follows the number of blocks and not their
// history.
func TestPlacesAreUsedAgain(t *testing.T) {
	e := New()
	f := e.NewFollower()
	now := epoch
	for range 100 {
		now = now.Add(10 * time.Minute)
		if err := e.Replace(t.Context(), now, entriesAt(now, 100)); err != nil {
			t.Fatal(err)
		}
		drain(t, f, now, 0)
		if err := e.Replace(t.Context(), now, nil); err != nil {
			t.Fatal(err)
		}
		drain(t, f, now, 0)
	}
	if n := len(e.table.slots); n > 300 {
		t.Errorf("%d places for 100 blocks", n)
	}
	if n := len(e.ends); n > 2000 {
		t.Errorf("%d ends for no block", n)
	}
}

// What cannot be in force is counted, and named where somebody asks.
func TestLeft(t *testing.T) {
	e := New()
	e.change(t, epoch, []enforce.Entry{entry("10.0.0.0/7", time.Hour), entry("192.0.2.0/25", time.Hour)})
	blocked := netip.MustParsePrefix("192.0.2.0/25")
	if e.Left() != 1 || e.Refuses()(blocked) {
		t.Errorf("%d left, and refused without a HAProxy: %t", e.Left(), e.Refuses()(blocked))
	}
	f := e.NewFollower()
	if !e.Refuses()(blocked) || e.Refuses()(netip.MustParsePrefix("10.0.0.0/7")) || e.Refuses()(netip.MustParsePrefix("10.0.0.0/8")) {
		t.Error("what is left is not refused, the rest is")
	}
	f.Leave()
	if e.Refuses()(blocked) {
		t.Error("refused without a HAProxy")
	}
}

func many(n int) []enforce.Entry { return entriesAt(epoch, n) }

func entriesAt(now time.Time, n int) (all []enforce.Entry) {
	for i := range n {
		addr := netip.AddrFrom4([4]byte{198, byte(i >> 16), byte(i >> 8), byte(i)})
		all = append(all, enforce.Entry{Prefix: netip.PrefixFrom(addr, 32), Until: now.Add(24 * time.Hour)})
	}
	return all
}

func single(p netip.Prefix) iter.Seq[edgeguard.Block] {
	return func(yield func(edgeguard.Block) bool) { yield(edgeguard.Block{Prefix: p}) }
}
