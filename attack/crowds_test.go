package attack

import (
	"fmt"
	"math"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"edgeguard"
)

// client returns one of many addresses, of both families.
func client(i int) netip.Addr {
	if i%2 == 0 {
		return netip.AddrFrom4([4]byte{8, byte(i >> 16), byte(i >> 8), byte(i)})
	}
	return netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, byte(i >> 16), byte(i >> 8), byte(i), 15: 1})
}

// asks returns an event of a client with an agent.
func asks(i int, agent string) *edgeguard.Event {
	return &edgeguard.Event{Addr: client(i), Known: edgeguard.FieldAgent, Agent: agent}
}

// answered returns the answer to a client.
func answered(i int, status uint16) *edgeguard.Event {
	return &edgeguard.Event{Addr: client(i), Kind: edgeguard.KindResponse, Verified: edgeguard.KindResponse, Known: edgeguard.FieldStatus, Status: status}
}

// Members are told apart, those beyond the room are a number, and addresses of one /64 are one.
func TestMembers(t *testing.T) {
	var c Crowds
	for _, n := range []int{1, 1999, 2000, 2001, 5000, 60_000} {
		with := fmt.Sprint("path=/", n)
		for range 2 {
			for i := range n {
				c.Note(epoch, "login", with, 401, 400, asks(i, ""))
			}
		}
		near := asks(1, "")
		near.Addr = near.Addr.Next()
		c.Note(epoch, "login", with, 401, 400, near)
		of, found := c.Of(epoch, "login", with, epoch)
		if want := max(0, n-mostCame); !found || len(of.Members) != min(n, mostCame)+max(0, 2-n) || math.Abs(float64(of.Rest-want)) > .05*float64(want) {
			t.Errorf("%d: %d members, %d beside", n, len(of.Members), of.Rest)
		}
		if !slices.IsSortedFunc(of.Members, func(x, y Comer) int { return x.Prefix.Compare(y.Prefix) }) {
			t.Errorf("%d: not in order", n)
		}
	}
	if _, found := c.Of(epoch, "login", "path=/1", epoch.Add(2*time.Minute)); !found {
		t.Error("a crossing that was told late has nobody")
	}
	if _, found := c.Of(epoch, "login", "path=/1", epoch.Add(quiet+time.Second)); found {
		t.Error("it is of a later attack")
	}
}

// A member succeeds by an answer of 2xx or 3xx within half an hour, by nothing else.
func TestSucceeds(t *testing.T) {
	var c Crowds
	c.Answered(epoch, answered(1, 200)) // nobody is a member
	for i := range 9 {
		c.Note(epoch, "login", "", 5, 4, asks(i, ""))
	}
	later := epoch.Add(30 * time.Minute)
	turned, forged, other := answered(4, 302), answered(5, 200), answered(100, 200)
	turned.TurnedAway, forged.Verified = true, 0
	c.Answered(epoch, answered(0, 200))
	c.Answered(later, answered(1, 302))
	c.Answered(later.Add(time.Second), answered(2, 200))
	c.Answered(later, answered(3, 401))
	c.Answered(later, turned)
	c.Answered(later, forged)
	c.Answered(later, other)
	c.Answered(epoch.Add(-time.Second), answered(6, 200))
	for at, waits := range map[time.Time]int{later.Add(-time.Second): 7, later: 0} {
		of, _ := c.Of(at, "login", "", epoch)
		succeeded, waiting := 0, 0
		for _, m := range of.Members {
			if m.Succeeded {
				succeeded++
			}
			if m.Waits {
				waiting++
			}
		}
		if succeeded != 2 || waiting != waits {
			t.Errorf("at %v %d succeeded, %d wait, want 2 and %d", at, succeeded, waiting, waits)
		}
	}
}

// The commonest agents are told with a share that is never too high, whatever rare ones come between; what a client
// writes is cut, and harmless.
func TestAgents(t *testing.T) {
	var c Crowds
	hostile := "\x1b[2J\u202e" + strings.Repeat("ö", 4<<10)
	for i := range 10_000 {
		agent := fmt.Sprint("rare ", i)
		switch {
		case i%2 == 0:
			agent = "python-requests/2.31"
		case i%5 == 0:
			agent = hostile
		}
		c.Note(epoch, "login", "", 5, 4, asks(i, agent))
	}
	of, _ := c.Of(epoch, "login", "", epoch)
	if len(of.Agents) > mostAgents || of.Agents[0].Text != "python-requests/2.31" || of.Agents[0].Share > .5 || of.Agents[0].Share < .45 {
		t.Fatalf("%+v", of.Agents)
	}
	if second := of.Agents[1]; second.Share > .1 || len(second.Text) > agentRoom+2 || !utf8.ValidString(second.Text) || strings.ContainsAny(second.Text, "\x1b\u202e") {
		t.Errorf("%+q, %g", second.Text, second.Share)
	}
}

// Of many keys those that are furthest above their limits keep their places, whoever comes later, in 2 MiB.
func TestCrowdsAreBounded(t *testing.T) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	c := new(Crowds)
	fill := func(with string, count uint32) {
		for i := range 3 * mostCame {
			c.Note(epoch, "login", with, count, 400, asks(i, strings.Repeat("a", 1000)+with))
		}
	}
	for i := range 100_000 {
		c.Note(epoch, "login", fmt.Sprint("path=/", i), 201, 400, asks(i, ""))
	}
	for i := range mostCrowds {
		fill(fmt.Sprint("path=/true", i), 401)
	}
	for i := range 1_000 {
		c.Note(epoch, "login", fmt.Sprint("path=/late", i), 401, 400, asks(i, ""))
	}
	for i := range mostCrowds {
		if of, found := c.Of(epoch, "login", fmt.Sprint("path=/true", i), epoch); !found || len(of.Members) != mostCame {
			t.Fatalf("%d: %d members", i, len(of.Members))
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if took := int64(after.HeapAlloc) - int64(before.HeapAlloc); took > 2<<20 {
		t.Errorf("it takes %d bytes", took)
	}
	c.Note(epoch.Add(quiet+time.Second), "login", "path=/next", 201, 400, asks(1, ""))
	if _, found := c.Of(epoch, "login", "path=/next", epoch); !found {
		t.Error("what has ended makes no room")
	}
	runtime.KeepAlive(c)
}

// Keys that grow together do not take each other's places: who came to most of them is known.
func TestCrowdsThatGrowTogether(t *testing.T) {
	var c Crowds
	for i := range 500 {
		for n := range mostCrowds + 1 {
			key := (n + i) % (mostCrowds + 1)
			c.Note(epoch, "path", fmt.Sprint("path=/", key), uint32(501+i), 1000, asks(i, ""))
		}
	}
	whole := 0
	for key := range mostCrowds + 1 {
		if of, found := c.Of(epoch, "path", fmt.Sprint("path=/", key), epoch); found && len(of.Members) == 500 {
			whole++
		}
	}
	if whole != mostCrowds {
		t.Errorf("of %d keys all members are known", whole)
	}
	c.Note(epoch, "path", "path=/far", 3000, 1000, asks(1, ""))
	if _, found := c.Of(epoch, "path", "path=/far", epoch); !found {
		t.Error("one that is far above its limit finds no place")
	}
}

// A key is told again while it stays over its limit; what brings it over anew is for the crossing to tell, which may wait.
func TestToldAgain(t *testing.T) {
	var c Crowds
	for _, step := range []struct {
		after time.Duration
		count uint32
		again bool
	}{
		{0, 3, false}, {time.Second, 5, false}, {299 * time.Second, 9, false}, {301 * time.Second, 9, true}, {302 * time.Second, 9, false},
		{602 * time.Second, 9, true}, {603 * time.Second, 4, false}, {903 * time.Second, 5, false}, {904 * time.Second, 5, false}, {1203 * time.Second, 5, true},
	} {
		if got := c.Note(epoch.Add(step.after), "login", "", step.count, 4, asks(1, "")); got != step.again {
			t.Errorf("after %v: %t", step.after, got)
		}
	}
}

// A key that is over a limit since that was lowered crossed nothing, and is told at once.
func TestLimitIsLowered(t *testing.T) {
	var c Crowds
	for i := range 60 {
		if c.Note(epoch, "login", "", uint32(i+21), 100, asks(i, "")) {
			t.Fatal("it is told below its limit")
		}
	}
	if !c.Note(epoch, "login", "", 81, 40, asks(61, "")) || c.Note(epoch, "login", "", 82, 40, asks(62, "")) {
		t.Error("it is not told once")
	}
}

// What is noted from many goroutines is all there.
func TestCrowdsTogether(t *testing.T) {
	var c Crowds
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for i := range 200 {
				c.Note(epoch, "login", "", 5, 4, asks(g*200+i, "x"))
				c.Answered(epoch, answered(g*200+i, 200))
				c.Of(epoch, "login", "", epoch)
			}
		})
	}
	all.Wait()
	if of, _ := c.Of(epoch, "login", "", epoch); len(of.Members) != 1600 || of.Agents[0].Share != 1 || slices.ContainsFunc(of.Members, func(m Comer) bool { return !m.Succeeded }) {
		t.Errorf("%d members", len(of.Members))
	}
}

// Keys without an address are bounded apart: many of them move out no network, and of them those stay that are
// furthest above their limits.
func TestFloodOfKeys(t *testing.T) {
	var b Book
	b.Add(&Crossing{Rule: "try", Key: network(1), Time: epoch, Kind: Watched})
	of := func(with string, count uint32) *Crossing {
		return &Crossing{Rule: "crowd", Everybody: true, With: with, Count: count, Limit: 10, Time: epoch, Kind: Watched}
	}
	b.Add(of("path=/true", 900))
	for i := range 2_000 {
		b.Add(of(fmt.Sprint("path=/", i), 11))
	}
	rows := b.Rows(epoch)
	if b.count != len(rows) || len(rows) != mostKeys+1 || !slices.ContainsFunc(rows, func(r *Row) bool { return r.With == "path=/true" && r.Most == 900 && r.Limit == 10 }) ||
		!slices.ContainsFunc(rows, func(r *Row) bool { return r.Rules[0] == "try" }) {
		t.Errorf("%d rows, %d runs", len(rows), b.count)
	}
	for i := range mostRuns { // so many networks that rows leave
		b.Add(&Crossing{Rule: "try", Key: network(i), Time: epoch.Add(time.Hour), Kind: Watched})
	}
	keys := 0
	for at := range b.runs {
		if at.everybody {
			keys++
		}
	}
	if b.keys != keys || keys == mostKeys {
		t.Errorf("of %d keys it counts %d", keys, b.keys)
	}
}

// BenchmarkNote is what an event of a key costs that is over half of its limit.
func BenchmarkNote(b *testing.B) {
	var c Crowds
	ev, i := asks(0, "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"), 0
	for b.Loop() {
		i++
		ev.Addr = client(i % 3000)
		c.Note(epoch, "login", "path=/login", 401, 400, ev)
	}
}

// Nodes of a fleet have the same crowd, each with what it and the others count; what no node writes is ignored.
func TestCrowdOfAFleet(t *testing.T) {
	const with = "path=/login header:x-key=ab…0011223344556677"
	crossing := func(after time.Duration, count uint32) *Crossing {
		return &Crossing{Rule: "login", Everybody: true, With: with, Count: count, Limit: 200, Time: epoch.Add(after), Kind: Watched, Here: true}
	}
	books := make([]Book, 3)
	books[0].Add(crossing(0, 380))
	books[1].Add(crossing(3*time.Minute, 300))
	now := epoch.Add(5 * time.Minute)
	books[1].Add(&Crossing{Rule: "site", Key: network(1), Time: now, Until: now.Add(time.Hour), Kind: Blocked, Here: true})
	for range 3 {
		var told []Told
		for i := range books {
			told = append(told, Told{fmt.Sprint("edge-", i), books[i].Figures(now)})
		}
		for i := range books {
			books[i].Hear(now, slices.Delete(slices.Clone(told), i, i+1)...)
		}
	}
	for i, want := range []string{"380 [{edge-1 300}]", "300 [{edge-0 380}]", "0 [{edge-0 380} {edge-1 300}]"} {
		rows := slices.DeleteFunc(slices.Clone(books[i].Rows(now)), func(r *Row) bool { return !r.Everybody })
		if len(rows) != 1 || rows[0].ID != books[0].Rows(now)[0].ID || fmt.Sprint(rows[0].Most, " ", rows[0].Nodes) != want || rows[0].With != with || rows[0].Limit != 200 || !rows[0].GoesOn(now) || rows[0].Kinds != Watched {
			t.Errorf("%d: %+v", i, rows)
		}
	}
	id, at := idOf(placeOf(crossing(0, 1)), epoch.Unix()), epoch.Unix()
	for _, text := range []string{
		fmt.Sprintf("%s 1 %d 1 200 path=/other", id, at), fmt.Sprintf("%s 1 %d 1 200", id, at), fmt.Sprintf("%s -1 %d 1 200 %s", id, at, with),
		fmt.Sprintf("login_everybody-00_20260301T120000Z 1 %d 1 200 %s", at, with), fmt.Sprintf("login_8.8.8.0_20260301T120000Z 1 %d 1 200 %s", at, with),
		fmt.Sprintf("%s 1 %d 1 200 %s", strings.ToUpper(id), at, with),
	} {
		var b Book
		if b.Hear(now, Told{"edge-1", text}); len(b.Rows(now)) != 0 {
			t.Errorf("%q is heard: %+v", text, b.Rows(now)[0])
		}
	}
}

// BenchmarkAnswered is what each answer costs: while no key is near its limit, and of a stranger while 32 are.
func BenchmarkAnswered(b *testing.B) {
	for _, keys := range []int{0, mostCrowds} {
		var c Crowds
		for i := range keys {
			for n := range mostCame {
				c.Note(epoch, "login", fmt.Sprint(i), 401, 400, asks(n, ""))
			}
		}
		ev := answered(60_000, 200)
		b.Run(fmt.Sprint(keys), func(b *testing.B) {
			for b.Loop() {
				c.Answered(epoch, ev)
			}
		})
	}
}
