package detector

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/internal/fulltest"
)

var begin = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// addr returns the n-th source.
func addr(n uint32) netip.Addr {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], n)
	return netip.AddrFrom4(b)
}

func syn(n uint32) edgeguard.Event {
	return edgeguard.Event{Addr: addr(n), Kind: edgeguard.KindPacket | edgeguard.KindSYN}
}

func handshake(n uint32) edgeguard.Event {
	return edgeguard.Event{Addr: addr(n), Kind: edgeguard.KindPacket | edgeguard.KindHandshake, Verified: edgeguard.KindHandshake}
}

// feed passes the events of a second.
func feed(w *FloodWatch, second int, events ...edgeguard.Event) {
	w.CountSources(begin.Add(time.Duration(second)*time.Second), events)
}

// fresh returns SYNs of so many sources that were not seen before.
func fresh(next *uint32, n int) (events []edgeguard.Event) {
	for range n {
		*next++
		events = append(events, syn(*next))
	}
	return events
}

// A flood in waves is one incident, with its begin, its peak and its end.
func TestFloodIsOneIncident(t *testing.T) {
	w, next := NewFloodWatch(FloodConfig{Sources: 1000}, 1), uint32(0)
	sizes := map[int]int{10: 999, 20: 1000, 21: 5000, 22: 2000, 60: 700, 110: 600, 111: 499, 300: 1200}
	for second := range 400 {
		feed(w, second, fresh(&next, sizes[second])...)
	}
	at := func(second int) time.Time { return begin.Add(time.Duration(second) * time.Second) }
	want := []Incident{
		{Begin: at(20), End: at(111), Peak: 5000, PeakAt: at(21), Sources: 1000 + 5000 + 2000 + 700 + 600 + 499},
		{Begin: at(300), End: at(301), Peak: 1200, PeakAt: at(300), Sources: 1200},
	}
	got := w.Finish()
	if len(got) != len(want) {
		t.Fatalf("incidents: %+v", got)
	}
	for i := range want {
		// A source may be believed to be known, of two hundred one at most.
		if got[i].Begin != want[i].Begin || got[i].End != want[i].End || got[i].PeakAt != want[i].PeakAt ||
			!near(uint64(got[i].Peak), uint64(want[i].Peak)) || !near(got[i].Sources, want[i].Sources) {
			t.Errorf("incident %d: %+v, want %+v", i, got[i], want[i])
		}
	}
	if f := w.Figures(); f.Floods != 2 || f.Lasting {
		t.Errorf("figures: %+v", f)
	}
}

// near reports whether a figure is its exact one, or up to one in a hundred less.
func near(got, exact uint64) bool { return got <= exact && got >= exact-exact/100 }

// A flash crowd of any size is quiet, if its handshakes are completed, be it a
// moment later or after a lost packet.
func TestFlashCrowd(t *testing.T) {
	fulltest.Only(t)
	w, next := NewFloodWatch(FloodConfig{Sources: 1000, Times: 10}, 2), uint32(0)
	const crowd = 20_000
	for second := range 30 {
		var events []edgeguard.Event
		for i := range uint32(crowd) {
			delay := []uint32{0, 0, 1, 3}[i%4] * crowd
			events = append(events, syn(next+i+1))
			if next+i+1 > delay {
				events = append(events, handshake(next+i+1-delay))
			}
		}
		next += crowd
		feed(w, second, events...)
	}
	// The handshakes that are still due, which came a second or three later.
	for second := range 4 {
		var events []edgeguard.Event
		for i := range uint32(4 * crowd) {
			events = append(events, handshake(next-i))
		}
		feed(w, 30+second, events...)
	}
	if got := w.Finish(); len(got) > 0 {
		t.Errorf("a flash crowd is a flood: %+v", got)
	}
}

// A flood inside a flash crowd is found.
func TestFloodInACrowd(t *testing.T) {
	w, next := NewFloodWatch(FloodConfig{Sources: 1000}, 3), uint32(0)
	for second := range 20 {
		events := fresh(&next, 5000)
		for i := range uint32(5000) {
			events = append(events, handshake(next-i))
		}
		feed(w, second, append(events, fresh(&next, 2000)...)...)
	}
	if got := w.Finish(); len(got) != 1 || !near(got[0].Sources, 40_000) {
		t.Errorf("incidents: %+v", got)
	}
}

// Ten times the usual begins an incident below the floor, once the usual is known,
// and never below a hundred.
func TestUsual(t *testing.T) {
	for _, c := range []struct {
		name       string
		usual, now int
		learned    int
		want       int
	}{
		{"ten times the usual", 30, 305, 600, 1},
		{"nine times", 30, 270, 600, 0},
		{"ten times nearly nothing", 1, 90, 600, 0},
		{"a hundred, where nothing is usual", 0, 101, 600, 1},
		{"before the usual is known", 30, 305, learning - 20, 0},
	} {
		w, next := NewFloodWatch(FloodConfig{Sources: 1000, Times: 10}, 4), uint32(0)
		feed(w, 0, syn(0))
		for second := range c.learned {
			feed(w, second, fresh(&next, c.usual)...)
		}
		for second := range 10 {
			feed(w, c.learned+second, fresh(&next, c.now)...)
		}
		if got := w.Finish(); len(got) != c.want {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

// What goes on for hours becomes usual; what is over the floor never does.
func TestNewUsual(t *testing.T) {
	fulltest.Only(t)
	w, next := NewFloodWatch(FloodConfig{Sources: 1000, Times: 10}, 5), uint32(0)
	feed(w, 0, fresh(&next, 2)...)
	second := 0
	run := func(seconds, n int) {
		for range seconds {
			second++
			feed(w, second, fresh(&next, n)...)
		}
	}
	run(600, 2)
	run(600, 150)
	if _, lasting, _ := w.JudgeSeconds(begin.Add(time.Duration(second) * time.Second)); !lasting {
		t.Error("fresh sources rose from 2 a second to 150, and that is no flood")
	}
	run(5*3600, 150)
	if _, lasting, _ := w.JudgeSeconds(begin.Add(time.Duration(second) * time.Second)); lasting {
		t.Error("it is still a flood after five hours")
	}
	run(1000, 1500)
	if _, lasting, _ := w.JudgeSeconds(begin.Add(time.Duration(second) * time.Second)); !lasting {
		t.Error("a flood over the floor became usual")
	}
}

// A flood lasts for all who look at it until it has ended, without another event.
func TestLook(t *testing.T) {
	w, next := NewFloodWatch(FloodConfig{Sources: 1000}, 6), uint32(0)
	look := func(second int) (Incident, bool, []Incident) {
		return w.JudgeSeconds(begin.Add(time.Duration(second) * time.Second))
	}
	if _, lasting, ended := look(0); lasting || ended != nil {
		t.Error("a flood without an event")
	}
	feed(w, 5, fresh(&next, 2000)...)
	if _, lasting, _ := look(8); lasting {
		t.Error("it was judged while handshakes may still come")
	}
	if i, lasting, _ := look(9); !lasting || !i.Begin.Equal(begin.Add(5*time.Second)) || i.Peak < 1980 {
		t.Errorf("lasting %v: %+v", lasting, i)
	}
	if _, lasting, _ := look(5 + 60); !lasting {
		t.Error("it ended too early")
	}
	if _, lasting, ended := look(5 + 60 + grace + 1); lasting || len(ended) != 1 || !ended[0].End.Equal(begin.Add(6*time.Second)) {
		t.Errorf("lasting %v, ended %+v", lasting, ended)
	}
	if _, _, ended := look(100); ended != nil {
		t.Error("it ended twice")
	}
}

// Sources that are seen again and again are not fresh, and an IPv6 /64 is one.
func TestKnownSources(t *testing.T) {
	fulltest.Only(t)
	w := NewFloodWatch(FloodConfig{Sources: 100}, 7)
	b := netip.MustParseAddr("2001:db8::").As16()
	for second := range 1000 {
		var events []edgeguard.Event
		for i := range uint32(1000) {
			binary.BigEndian.PutUint32(b[12:], i*uint32(second+1))
			events = append(events, syn(i%50), edgeguard.Event{Addr: netip.AddrFrom16(b), Kind: edgeguard.KindUDP})
		}
		feed(w, second, events...)
	}
	if got := w.Finish(); len(got) > 0 || w.Figures().Fresh != 51 {
		t.Errorf("%+v, incidents %+v", w.Figures(), got)
	}
}

// A flood that is larger than the sketches stays visible, in the same memory.
func TestFloodLargerThanTheSketches(t *testing.T) {
	fulltest.Only(t)
	w, next := NewFloodWatch(FloodConfig{Sources: 1000}, 8), uint32(0)
	for second := range 30 {
		feed(w, second, fresh(&next, 50_000)...)
	}
	got := w.Finish()
	if len(got) != 1 || !near(got[0].Sources, 1_500_000) {
		t.Errorf("incidents: %+v", got)
	}
	if bytes := 8 * (len(w.seen.newer) + len(w.seen.older) + len(w.proven.newer) + len(w.proven.older)); bytes != 4<<20 {
		t.Errorf("%d bytes", bytes)
	}
}

// A node that only reads logs pays nothing.
func TestVerifiedOnly(t *testing.T) {
	w := NewFloodWatch(FloodConfig{Sources: 1}, 9)
	var events []edgeguard.Event
	for i := range uint32(1000) {
		events = append(events, edgeguard.Event{Addr: addr(i), Kind: edgeguard.KindRequest, Verified: edgeguard.KindRequest})
	}
	if n := testing.AllocsPerRun(10, func() { feed(w, 0, events...) }); n > 0 || w.seen != nil {
		t.Errorf("%v allocations", n)
	}
	var none *FloodWatch
	none.CountSources(begin, events)
}

// Without a number nothing is a flood, and what is set later is in force.
func TestSet(t *testing.T) {
	w, next := NewFloodWatch(FloodConfig{}, 10), uint32(0)
	feed(w, 0, fresh(&next, 5000)...)
	w.SetConfig(FloodConfig{Sources: 1000})
	feed(w, 10, fresh(&next, 5000)...)
	if got := w.Finish(); len(got) != 1 || !got[0].Begin.Equal(begin.Add(10*time.Second)) {
		t.Errorf("incidents: %+v", got)
	}
}

// twin is the definition, written out as slowly as it reads: it remembers every
// source, and every second.
type twin struct {
	limit        int
	seen, proven [2]map[netip.Addr]bool // the newer generation first
	seenAt       int
	provenAt     int
	waiting      []int // the seconds of fresh sources, in their order
	second       int
}

func (w *twin) add(set *[2]map[netip.Addr]bool, turned *int, a netip.Addr) bool {
	if set[0] == nil || w.second-*turned >= generation {
		if w.second-*turned >= 2*generation {
			set[0] = nil
		}
		set[0], set[1], *turned = map[netip.Addr]bool{}, set[0], w.second
	}
	known := set[0][a] || set[1][a]
	set[0][a] = true
	return !known
}

func (w *twin) note(second int, ev edgeguard.Event) {
	w.second = second
	fresh := w.add(&w.seen, &w.seenAt, ev.Addr)
	if ev.Verified == 0 {
		if fresh {
			w.waiting = append(w.waiting, second)
		}
	} else if w.add(&w.proven, &w.provenAt, ev.Addr) && !fresh {
		if i := slices.IndexFunc(w.waiting, func(s int) bool { return s >= second-grace }); i >= 0 {
			w.waiting = slices.Delete(w.waiting, i, i+1)
		}
	}
}

// incidents returns begin and end of each.
func (w *twin) incidents() (all [][2]int) {
	in := make(map[int]int)
	for _, s := range w.waiting {
		in[s]++
	}
	for second := 0; second <= w.second; second++ {
		if in[second] < w.limit {
			continue
		}
		last := second
		for s := second; s-last < quiet; s++ {
			if 2*in[s] >= w.limit {
				last = s
			}
		}
		all = append(all, [2]int{second, last + 1})
		second = last + quiet
	}
	return all
}

// TestAgainstTwin compares random traffic with the definition. The sources are few
// enough for a sketch to make no mistake.
func TestAgainstTwin(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	floods := 0
	for range 50 {
		w, slow := NewFloodWatch(FloodConfig{Sources: 6}, random.Uint64()), &twin{limit: 6}
		pool := uint32(20 + random.IntN(400))
		second := 0
		for range 300 {
			second += []int{0, 0, 1, 1, 1, 2, 5, 70, 400}[random.IntN(9)]
			for range random.IntN(12) {
				ev := syn(random.Uint32N(pool))
				if random.IntN(3) == 0 {
					ev = handshake(random.Uint32N(pool))
				}
				if slow.seen[0] == nil && ev.Verified != 0 {
					continue // the watch begins with the first that can be forged
				}
				feed(w, second, ev)
				slow.note(second, ev)
			}
		}
		got, want := w.Finish(), slow.incidents()
		if int(w.Figures().Fresh) != len(slow.waiting) {
			t.Fatalf("%d fresh sources, want %d", w.Figures().Fresh, len(slow.waiting))
		}
		if len(got) != len(want) {
			t.Fatalf("%d incidents, want %d", len(got), len(want))
		}
		for i := range want {
			if b, e := int(got[i].Begin.Sub(begin).Seconds()), int(got[i].End.Sub(begin).Seconds()); b != want[i][0] || e != want[i][1] {
				t.Fatalf("incident %d from %d to %d, want %v", i, b, e, want[i])
			}
		}
		floods += len(want)
	}
	if floods < 20 {
		t.Errorf("only %d floods: the test shows little", floods)
	}
}

// BenchmarkNote is what a packet of a fresh source costs.
func BenchmarkNote(b *testing.B) {
	w, next := NewFloodWatch(FloodConfig{Sources: 1000}, 1), uint32(0)
	var events [64]edgeguard.Event
	for b.Loop() {
		for i := range events {
			next++
			events[i] = syn(next)
		}
		w.CountSources(begin, events[:])
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/64, "ns/event")
}
