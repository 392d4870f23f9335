package daemon

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

// Fault 17: a step of the wall clock moves no count and ends no block; people
// and files are told the time that the wall clock shows.
func TestClockSteps(t *testing.T) {
	folder := shortDir(t)
	u := newNode(t, folder, small)
	defer u.close()
	u.restore() // makes the folder
	for range 11 {
		u.request("203.0.113.9")
	}
	u.request("203.0.113.10")
	for _, hours := range []time.Duration{1, -1, 24, 0} {
		u.step(hours * time.Hour)
		view := view{u.Node}
		if got := view.Now(); (time.Until(got) - hours*time.Hour).Abs() > 10*time.Second {
			t.Errorf("after a step to %+dh people are told %v", hours, got)
		}
		if !u.blocked("203.0.113.9") || u.count("203.0.113.10") != 1 {
			t.Errorf("after a step to %+dh: blocked %v, count %d", hours, u.blocked("203.0.113.9"), u.count("203.0.113.10"))
		}
		b := view.Find(view.Now(), netip.MustParsePrefix("203.0.113.9/32"))
		if len(b) != 1 || (b[0].Until.Sub(view.Now())-10*time.Minute).Abs() > 10*time.Second {
			t.Errorf("after a step to %+dh the block is shown as %+v at %v", hours, b, view.Now())
		}
		manual := edgeguard.Block{Prefix: netip.MustParsePrefix("198.51.100.7/32"), Rule: "manual", Since: view.Now(), Until: view.Now().Add(time.Minute)}
		if _, err := view.Block(manual, false); err != nil || !u.blocked("198.51.100.7") {
			t.Errorf("after a step to %+dh a block by hand: %v", hours, err)
		}
	}
	u.save()
	again := newNode(t, folder, small)
	defer again.close()
	again.restore()
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
		u.decide(now, &event)
	}
	if used := u.memory.Stats().Used; used < 1<<20 {
		t.Errorf("%d bytes used for 100,000 keys", used)
	}
	u.close()
	if pages := u.memory.Stats().KeyPages; pages != 0 {
		t.Errorf("%d pages are still used", pages)
	}
}

func BenchmarkDecide(b *testing.B) {
	u := newNode(b, shortDir(b), small)
	defer u.close()
	now := u.clock.Now()
	events := make([]edgeguard.Event, 4096)
	for i := range events {
		events[i] = requestOf(address(i).String(), now)
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		u.decide(now, &events[i%len(events)])
		i++
	}
}
