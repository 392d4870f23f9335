package node

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/clockguard"
)

// step has the node's clock see the wall clock jump.
func (u *underTest) step(by time.Duration) {
	u.t.Helper()
	r := clockguard.Read()
	r.Wall = r.Wall.Add(by)
	if _, stepped := u.clock.Observe(r); !stepped {
		u.t.Fatalf("a step by %v was not seen", by)
	}
}

// readsLog has the node decide the lines of a log as it decides those that it
// follows; the function writes one of an address, at a time of the wall clock.
func (u *underTest) readsLog() func(at time.Time, addr string) {
	decide := u.pipeline.Batches("log")
	return func(at time.Time, addr string) {
		decide(u.clock.Now(), []edgeguard.Event{requestOf(addr, u.clock.Local(at.Truncate(time.Second)))})
	}
}

// Fault 17: a step of the wall clock moves no count and ends no block; people
// and files get the time that the wall clock shows.
func TestClockSteps(t *testing.T) {
	folder := shortDir(t)
	u := newNode(t, folder, small)
	defer u.pipeline.Close()
	u.store.restore() // makes the folder
	for range 11 {
		u.request("203.0.113.9")
	}
	u.request("203.0.113.10")
	lines := 0
	log := u.readsLog()
	end32 := time.Until(time.Unix(1<<31, 0)) // from a second before to 5 s after
	for _, by := range []time.Duration{time.Hour, -time.Hour, 5 * time.Second, -5 * time.Second, 300 * time.Second, 24 * time.Hour, end32 - time.Second, end32 + 5*time.Second, 0} {
		u.step(by)
		view := u.view()
		if got := view.Now(); (time.Until(got) - by).Abs() > 10*time.Second {
			t.Errorf("after a step by %v the API shows %v", by, got)
		}
		// A server of this host stamps its lines with the clock that stepped.
		log(time.Now().Add(by), "203.0.113.11")
		lines++
		if !u.blocked("203.0.113.9") || u.count("203.0.113.10") != 1 || u.count("203.0.113.11") != lines {
			t.Errorf("after a step by %v: blocked %v, counts %d and %d", by, u.blocked("203.0.113.9"), u.count("203.0.113.10"), u.count("203.0.113.11"))
		}
		b := view.Find(view.Now(), netip.MustParsePrefix("203.0.113.9/32"))
		if len(b) != 1 || (b[0].Until.Sub(view.Now())-10*time.Minute).Abs() > 10*time.Second {
			t.Errorf("after a step by %v the block is shown as %+v at %v", by, b, view.Now())
		}
		manual := edgeguard.Block{Prefix: netip.MustParsePrefix("198.51.100.7/32"), Rule: "manual", Since: view.Now(), Until: view.Now().Add(time.Minute)}
		if _, err := view.Block(manual, false); err != nil || !u.blocked("198.51.100.7") {
			t.Errorf("after a step by %v a block by hand: %v", by, err)
		}
	}
	if u.list.Len() != 2 {
		t.Errorf("%d blocks, want the offender and the one by hand", u.list.Len())
	}
	u.store.save()
	again := newNode(t, folder, small)
	defer again.pipeline.Close()
	again.store.restore()
	if !again.blocked("203.0.113.9") || again.count("203.0.113.10") != 1 {
		t.Errorf("after the steps and a restart: blocked %v, count %d\n%s", again.blocked("203.0.113.9"), again.count("203.0.113.10"), again.log)
	}
}

// Huge pages or not, the tables' memory is the kernel's and is given back.
func TestMemoryIsGivenBack(t *testing.T) {
	u := newNode(t, shortDir(t), strings.Replace(small, "state: $DIR/state", "state: "+filepath.Join(os.TempDir(), "none"), 1))
	now := u.clock.Now()
	for i := range 100_000 {
		event := requestOf(address(i).String(), now)
		u.pipeline.Decide(now, &event)
	}
	if used := u.pipeline.Memory().Used; used < 1<<20 {
		t.Errorf("%d bytes used for 100,000 keys", used)
	}
	u.pipeline.Close()
	if pages := u.pipeline.Memory().KeyPages; pages != 0 {
		t.Errorf("%d pages are still used", pages)
	}
}

func BenchmarkDecide(b *testing.B) {
	u := newNode(b, shortDir(b), small)
	defer u.pipeline.Close()
	now := u.clock.Now()
	events := make([]edgeguard.Event, 4096)
	for i := range events {
		events[i] = requestOf(address(i).String(), now)
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		u.pipeline.Decide(now, &events[i%len(events)])
		i++
	}
}
