package redis

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"edgeguard/aggregator"
	"edgeguard/aggregator/fleet"
	"edgeguard/internal/program"
	"edgeguard/internal/redistest"
)

const thresholdsKey = "eg:{test/b}:thresholds"

// thresholdMember is a node that takes whatever is later.
type thresholdMember struct {
	mu      sync.Mutex // guards book
	book    fleet.ThresholdBook
	changed chan struct{}
	alarms  []string
	sync    thresholdSync
}

func (m *thresholdMember) Rules() []string          { return []string{"login", "site"} }
func (m *thresholdMember) Changed() <-chan struct{} { return m.changed }
func (m *thresholdMember) Book() fleet.ThresholdBook {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.book
}

func (m *thresholdMember) Take(_ context.Context, news []fleet.ThresholdRecord) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range news {
		m.book = m.book.WithRecord(r, false, 0)
	}
}

// threshold returns what decides of a rule; 0 for the config's.
func (m *thresholdMember) threshold(rule string) uint32 {
	e, _ := m.Book().EntryOf(rule)
	if r := e.Decides(); r != nil {
		return r.Threshold
	}
	return 0
}

// boundedThresholds returns a client whose answers are bounded, as a node's are.
func boundedThresholds(t *testing.T, s *redistest.Server) *goredis.Client {
	o := s.Options()
	o.Dialer = boundedDialer(o)
	c := goredis.NewClient(o)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func joinThresholds(t *testing.T, s *redistest.Server) *thresholdMember {
	m := &thresholdMember{changed: make(chan struct{}, 1)}
	j := judge(t, "a", true)
	m.sync = thresholdSync{
		Client: boundedThresholds(t, s), Key: thresholdsKey, Timeout: 10 * time.Second, Node: m, Judge: func() *fleet.Authority { return j },
		Now: func() time.Time { return time.UnixMilli(1_000_000) }, Nodes: func() int64 { return 3 },
		Alarm: func(kind, _, text string) { m.alarms = append(m.alarms, kind+": "+text) }, Calm: func(string, string) { m.alarms = nil },
	}
	return m
}

// looks lets nodes look at Redis, in this order.
func looks(t *testing.T, all ...*thresholdMember) {
	t.Helper()
	for _, m := range all {
		if err := m.sync.once(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// sets has an operator of a node set a threshold.
func (m *thresholdMember) sets(rule string, at int64, threshold uint32) fleet.ThresholdRecord {
	r := fleet.ThresholdRecord{Rule: rule, Meter: "aa", Base: 2000, Threshold: threshold, At: at, Node: "edge"}
	m.Take(context.Background(), []fleet.ThresholdRecord{r})
	return r
}

func agree(t *testing.T, rule string, want uint32, all ...*thresholdMember) {
	t.Helper()
	for i, m := range all {
		if got := m.threshold(rule); got != want {
			t.Errorf("node %d has %d for %s, want %d", i, got, rule, want)
		}
	}
}

// What is set on one node is known to all, also to one that joins later, and after
// Redis was emptied; so is an undo.
func TestThresholdAllKnow(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Options{})
	a, b := joinThresholds(t, s), joinThresholds(t, s)
	looks(t, a, b)
	a.sets("site", 10, 800)
	looks(t, a, b)
	agree(t, "site", 800, a, b)
	s.Client().FlushAll(t.Context())
	c := joinThresholds(t, s)
	looks(t, c, b, c)
	agree(t, "site", 800, a, b, c)
	b.sets("site", 11, 0)
	c.sets("other", 11, 5) // of a rule that a has not: it does not ask
	looks(t, b, c, a, b)
	agree(t, "site", 0, a, b, c)
	agree(t, "other", 0, a, b)
}

// Two changes that do not know of each other: the later one is in force on all nodes.
func TestThresholdTwoSet(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Options{})
	a, b, c := joinThresholds(t, s), joinThresholds(t, s), joinThresholds(t, s)
	a.sets("site", 11, 800)
	b.sets("site", 10, 900)
	looks(t, a, c, b, c) // b takes a's
	agree(t, "site", 800, a, b, c)
	a.sets("login", 10, 80)
	b.sets("login", 11, 90)
	looks(t, a, c, b, c, a)
	agree(t, "login", 90, a, b, c)
}

// Who can write to Redis and has no key changes nothing: what he writes is rejected,
// and replaced where a node knows better.
func TestThresholdThief(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Options{})
	a, b := joinThresholds(t, s), joinThresholds(t, s)
	old := a.sets("site", 10, 800)
	looks(t, a, b)
	oldValue := s.Client().HGet(t.Context(), thresholdsKey, "site").Val()
	a.sets("site", 20, 700)
	looks(t, a, b)
	value := s.Client().HGet(t.Context(), thresholdsKey, "site").Val()
	record := func(change func(*fleet.ThresholdRecord)) string {
		r := old
		change(&r)
		text, err := r.Encode()
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	undo := record(func(r *fleet.ThresholdRecord) { r.Threshold, r.At = 0, 30 })
	future := record(func(r *fleet.ThresholdRecord) { r.At = 1_000_000 + 60_001 })
	own := judge(t, "a", true)
	for name, row := range map[string]struct {
		rule, value string
		quiet       bool
	}{
		"deleted":           {"site", "", true},
		"an older record":   {"site", oldValue, true},
		"unsigned":          {"site", undo, false},
		"with a MAC of his": {"site", judge(t, "b", true).Threshold("site", undo), false},
		"another's MAC":     {"site", value[:aggregator.MACSize] + undo, false},
		"of another rule":   {"login", value, false},
		"of another fleet":  {"site", fleet.NewAuthority(nil, true, "test").Threshold("site", undo) + undo, false},
		"a megabyte":        {"site", strings.Repeat("x", 1<<20-1), false},
		"signed elsewhere":  {"login", own.Threshold("login", undo), false},
		"from the future":   {"site", own.Threshold("site", future), false},
		"signed rubbish":    {"site", own.Threshold("site", "rubbish"), false},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := joinThresholds(t, s), joinThresholds(t, s)
			a.sets("site", 20, 700)
			looks(t, a, b)
			if row.value == "" {
				s.Client().HDel(t.Context(), thresholdsKey, row.rule)
			} else {
				s.Client().HSet(t.Context(), thresholdsKey, row.rule, row.value)
			}
			fresh := joinThresholds(t, s)
			looks(t, fresh)
			if got := fresh.threshold("login"); got != 0 {
				t.Errorf("a new node has %d for login", got)
			}
			if alarmed := len(fresh.alarms) > 0; alarmed == row.quiet {
				t.Errorf("alarms: %q", fresh.alarms)
			}
			looks(t, join2(a), b, fresh)
			agree(t, "site", 700, a, b, fresh)
			if got := s.Client().HGet(t.Context(), thresholdsKey, "site").Val(); got != value {
				t.Errorf("Redis has %.80q again, want %.80q", got, value)
			}
			s.Client().HDel(t.Context(), thresholdsKey, "login")
			if looks(t, fresh); len(fresh.alarms) > 0 {
				t.Errorf("the alarm goes on: %q", fresh.alarms)
			}
		})
	}
}

// join2 returns the node with its pace as new: what it wrote before does not count.
func join2(m *thresholdMember) *thresholdMember {
	m.sync.pace = fleet.AcceptPace{}
	return m
}

// What is too long, too much or of another type is removed, and costs no more than
// that; how many other fields there are does not matter.
func TestThresholdLarge(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Options{})
	a := joinThresholds(t, s)
	a.sets("site", 20, 700)
	c := s.Client()
	c.HSet(t.Context(), thresholdsKey, "login", strings.Repeat("x", longestThreshold+1))
	var flood []any
	for i := range 20_000 {
		flood = append(flood, fmt.Sprint("rule-", i), "x")
	}
	c.HSet(t.Context(), thresholdsKey, flood...)
	if looks(t, a); c.HExists(t.Context(), thresholdsKey, "login").Val() || !c.HExists(t.Context(), thresholdsKey, "site").Val() {
		t.Error("the long value is there, or the threshold is not")
	}
	for name, spoil := range map[string]func(){
		"a text":        func() { c.Set(t.Context(), thresholdsKey, "x", 0) },
		"two megabytes": func() { c.HSet(t.Context(), thresholdsKey, "site", strings.Repeat("x", 2<<20)) },
	} {
		c.Del(t.Context(), thresholdsKey)
		spoil()
		a, b := join2(a), joinThresholds(t, s)
		looks(t, a, a, b)
		if got := b.threshold("site"); got != 700 {
			t.Errorf("%s: a new node has %d, want 700", name, got)
		}
	}
}

// A record of a later version is neither taken nor replaced, and is no alarm.
func TestThresholdLaterVersion(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Options{})
	a := joinThresholds(t, s)
	a.sets("site", 20, 700)
	value := a.sync.Judge().Threshold("site", `{"format":3,"rule":"site","more":"of it"}`)
	s.Client().HSet(t.Context(), thresholdsKey, "site", value)
	looks(t, a)
	if got := s.Client().HGet(t.Context(), thresholdsKey, "site").Val(); got != value || len(a.alarms) > 0 {
		t.Errorf("Redis has %q; alarms %q", got, a.alarms)
	}
}

// Of what a forger overwrites all the time, a node writes its own at a bounded pace. A
// node in monitor mode writes nothing.
func TestThresholdPace(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Options{})
	a := joinThresholds(t, s)
	a.sets("site", 20, 700)
	written := 0
	for range 50 {
		s.Client().HSet(t.Context(), thresholdsKey, "site", "x")
		looks(t, a)
		if s.Client().HGet(t.Context(), thresholdsKey, "site").Val() != "x" {
			written++
		}
	}
	if written < 1 || written > 20 {
		t.Errorf("written %d times", written)
	}
	a.sets("site", 21, 600)
	if looks(t, a); s.Client().HGet(t.Context(), thresholdsKey, "site").Val() == "x" {
		t.Error("a new change waits for the pace of the one before")
	}
	a = join2(a)
	a.sync.Monitor = true
	s.Client().Del(t.Context(), thresholdsKey)
	if looks(t, a); s.Client().Exists(t.Context(), thresholdsKey).Val() != 0 {
		t.Error("a node in monitor mode writes")
	}
}

// Run publishes what is set while it runs, and another node takes it.
func TestThresholdRun(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Options{})
	a, b := joinThresholds(t, s), joinThresholds(t, s)
	ctx, end := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for _, m := range []*thresholdMember{a, b} {
		running.Go(func() { _ = m.sync.Run(ctx) })
	}
	a.sets("site", 10, 800)
	a.changed <- struct{}{}
	program.Eventually(t, "the other node has it", func() bool { return b.threshold("site") == 800 })
	end()
	running.Wait()
}

func TestThresholdNames(t *testing.T) {
	b := fleet.ThresholdBook{}.WithRecord(fleet.ThresholdRecord{Rule: "gone", At: 1}, false, 0).WithRecord(fleet.ThresholdRecord{Rule: "site", At: 1}, false, 0)
	if got := thresholdNames([]string{"site", "login"}, b); !slices.Equal(got, []string{"gone", "login", "site"}) {
		t.Errorf("looks at %q", got)
	}
}
