package fleet

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

var joinStart = time.Unix(1_800_000_000, 0)

// node is a Health with a clock and what it reported.
type node struct {
	*Health
	now   time.Time
	lines []string
}

func newNode() *node {
	n := &node{now: joinStart}
	n.Health = NewHealth(joinStart,
		func(kind, about, text string) { n.lines = append(n.lines, kind+"/"+about+": "+text) },
		func(kind, about string) { n.lines = append(n.lines, kind+"/"+about+" ends") })
	return n
}

var (
	permission  = Fault{Kind: "permission", Text: "may not read", Patience: 400 * time.Millisecond, Answered: true}
	unreachable = Fault{Kind: "unreachable", Text: "no answer", Patience: time.Second}
)

// A session that ends as soon as it began: at most five joins in eight seconds,
// even by the shortest draws, then one in half a minute; one alarm.
func TestShortSessions(t *testing.T) {
	n := newNode()
	joins := 0
	for n.now.Before(joinStart.Add(8 * time.Second)) {
		joins++
		n.Joined(n.now)
		if f, _ := n.State(); f.Kind != "" {
			t.Fatalf("joined, and cut off by %q", f.Kind)
		}
		n.now = n.now.Add(n.Failed(n.now, permission) / 2)
	}
	if joins > 5 {
		t.Errorf("%d joins in 8 s, want 5 at most", joins)
	}
	var wait time.Duration
	for range 20 {
		n.Joined(n.now)
		wait = n.Failed(n.now, permission)
	}
	if wait != 30*time.Second {
		t.Errorf("at last it waits %v, want 30s", wait)
	}
	if want := []string{"fleet/redis: may not read"}; !slices.Equal(n.lines, want) {
		t.Errorf("it reported %q, want %q", n.lines, want)
	}
	if f, since := n.State(); f.Kind != "permission" || since.After(n.now) {
		t.Errorf("%+v since %v", f, since)
	}
}

// The waits after tries that failed double up to the fault's patience. The first
// short session after a steady one is waited for as briefly, the second not.
func TestWaits(t *testing.T) {
	n := newNode()
	waits := func(want ...time.Duration) {
		t.Helper()
		for i, w := range want {
			if got := n.Failed(n.now, unreachable); got != w*time.Millisecond {
				t.Errorf("wait %d: %v, want %v", i, got, w*time.Millisecond)
			}
		}
	}
	lasts := func(d time.Duration) { n.Joined(n.now); n.now = n.now.Add(d) }
	waits(25, 50, 100, 200, 400, 800, 1000, 1000)
	lasts(steady)
	waits(25, 25, 50)
	lasts(steady - 1)
	waits(25, 25, 50, 100)
	lasts(0)
	waits(1500, 25, 50) // Redis may be down after it: tries that fail cost little
	lasts(0)
	waits(3000)
	lasts(0)
	waits(3000) // a connection that is cut again and again
	lasts(steady)
	waits(25)
	lasts(0)
	waits(25)
}

// The alarm lasts until the node has been joined for ten seconds, and names each
// cause that takes the place of another.
func TestAlarmEndsWithASteadySession(t *testing.T) {
	n := newNode()
	n.Lasts(n.now, 1)
	n.Failed(n.now, unreachable)
	n.Failed(n.now, unreachable)
	n.Failed(n.now, permission)
	n.Joined(n.now)
	n.now = n.now.Add(steady - 1)
	n.Lasts(n.now, 1)
	n.Failed(n.now, permission)
	n.Joined(n.now)
	n.now = n.now.Add(steady)
	n.Lasts(n.now, 1)
	n.Lasts(n.now, 1)
	n.Failed(n.now, permission)
	want := "[fleet/redis: no answer fleet/redis: may not read fleet/redis ends fleet/redis: may not read]"
	if got := fmt.Sprint(n.lines); got != want {
		t.Errorf("it reported %s, want %s", got, want)
	}
}

// A fault of pushes is one only while the node is joined, and ends by itself.
func TestPushFaults(t *testing.T) {
	n := newNode()
	if f, since := n.State(); f.Kind != "starting" || !since.Equal(joinStart) {
		t.Errorf("at the start: %+v since %v", f, since)
	}
	n.Joined(n.now)
	n.now = n.now.Add(time.Minute)
	n.PushFailed(n.now, permission)
	n.PushFailed(n.now.Add(time.Second), permission)
	if f, since := n.State(); f != permission || !since.Equal(n.now) {
		t.Errorf("%+v since %v", f, since)
	}
	n.Failed(n.now, unreachable)
	if f, _ := n.State(); f != unreachable {
		t.Errorf("%+v hides that Redis is away", f)
	}
	n.Joined(n.now)
	if !n.PushWorks() || n.PushWorks() {
		t.Error("pushes work again once")
	}
	if f, _ := n.State(); f.Kind != "" {
		t.Errorf("%+v without a fault", f)
	}
	want := "[fleet/push: may not read fleet/redis: no answer fleet/push ends]"
	if got := fmt.Sprint(n.lines); got != want {
		t.Errorf("it reported %s, want %s", got, want)
	}
}
