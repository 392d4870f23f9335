package tuned

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"edgeguard/aggregator/authority"
	"edgeguard/aggregator/redis/bounds"
	"edgeguard/aggregator/sign"
	"edgeguard/aggregator/thresholds"
	"edgeguard/internal/redistest"
)

const key = "eg:{test/b}:thresholds"

// member is a node that takes whatever is later.
type member struct {
	mu      sync.Mutex // guards book
	book    thresholds.Book
	changed chan struct{}
	alarms  []string
	sync    Sync
}

func (m *member) Rules() []string          { return []string{"login", "site"} }
func (m *member) Changed() <-chan struct{} { return m.changed }
func (m *member) Book() thresholds.Book {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.book
}

func (m *member) Take(_ context.Context, news []thresholds.Record) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range news {
		m.book = m.book.With(r, false, 0)
	}
}

// threshold returns what decides of a rule; 0 for the config's.
func (m *member) threshold(rule string) uint32 {
	e, _ := m.Book().Of(rule)
	if r := e.Decides(); r != nil {
		return r.Threshold
	}
	return 0
}

func judge(t *testing.T, digit string) *authority.Judge {
	t.Helper()
	keys, err := sign.ParseKeys(strings.Repeat(digit, 64))
	if err != nil {
		t.Fatal(err)
	}
	return authority.NewJudge(keys, true, "test")
}

// bounded returns a client whose answers are bounded, as a node's are.
func bounded(t *testing.T, s *redistest.Server) *goredis.Client {
	o := s.Options()
	o.Dialer = bounds.Dialer(o)
	c := goredis.NewClient(o)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func join(t *testing.T, s *redistest.Server) *member {
	m := &member{changed: make(chan struct{}, 1)}
	j := judge(t, "a")
	m.sync = Sync{
		Client: bounded(t, s), Key: key, Timeout: 10 * time.Second, Node: m, Judge: func() *authority.Judge { return j },
		Now: func() time.Time { return time.UnixMilli(1_000_000) }, Nodes: func() int64 { return 3 },
		Alarm: func(kind, _, text string) { m.alarms = append(m.alarms, kind+": "+text) }, Calm: func(string, string) { m.alarms = nil },
	}
	return m
}

// looks lets nodes look at Redis, in this order.
func looks(t *testing.T, all ...*member) {
	t.Helper()
	for _, m := range all {
		if err := m.sync.once(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// sets has an operator of a node set a threshold.
func (m *member) sets(rule string, at int64, threshold uint32) thresholds.Record {
	r := thresholds.Record{Rule: rule, Meter: "aa", Base: 2000, Threshold: threshold, At: at, Node: "edge"}
	m.Take(context.Background(), []thresholds.Record{r})
	return r
}

func agree(t *testing.T, rule string, want uint32, all ...*member) {
	t.Helper()
	for i, m := range all {
		if got := m.threshold(rule); got != want {
			t.Errorf("node %d has %d for %s, want %d", i, got, rule, want)
		}
	}
}

// What is set on one node is known to all, also to one that joins later, and after
// Redis was emptied; so is an undo.
func TestAllKnow(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Options{})
	a, b := join(t, s), join(t, s)
	looks(t, a, b)
	a.sets("site", 10, 800)
	looks(t, a, b)
	agree(t, "site", 800, a, b)
	s.Client().FlushAll(t.Context())
	c := join(t, s)
	looks(t, c, b, c)
	agree(t, "site", 800, a, b, c)
	b.sets("site", 11, 0)
	c.sets("other", 11, 5) // of a rule that a has not: it does not ask
	looks(t, b, c, a, b)
	agree(t, "site", 0, a, b, c)
	agree(t, "other", 0, a, b)
}

// Two changes that do not know of each other: the later one is in force on all nodes.
func TestTwoSet(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Options{})
	a, b, c := join(t, s), join(t, s), join(t, s)
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
func TestThief(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Options{})
	a, b := join(t, s), join(t, s)
	old := a.sets("site", 10, 800)
	looks(t, a, b)
	oldValue := s.Client().HGet(t.Context(), key, "site").Val()
	a.sets("site", 20, 700)
	looks(t, a, b)
	value := s.Client().HGet(t.Context(), key, "site").Val()
	record := func(change func(*thresholds.Record)) string {
		r := old
		change(&r)
		text, err := r.Encode()
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	undo := record(func(r *thresholds.Record) { r.Threshold, r.At = 0, 30 })
	future := record(func(r *thresholds.Record) { r.At = 1_000_000 + 60_001 })
	own := judge(t, "a")
	for name, row := range map[string]struct {
		rule, value string
		quiet       bool
	}{
		"deleted":           {"site", "", true},
		"an older record":   {"site", oldValue, true},
		"unsigned":          {"site", undo, false},
		"with a MAC of his": {"site", judge(t, "b").Threshold("site", undo), false},
		"another's MAC":     {"site", value[:sign.Size] + undo, false},
		"of another rule":   {"login", value, false},
		"of another fleet":  {"site", authority.NewJudge(nil, true, "test").Threshold("site", undo) + undo, false},
		"a megabyte":        {"site", strings.Repeat("x", 1<<20-1), false},
		"signed elsewhere":  {"login", own.Threshold("login", undo), false},
		"from the future":   {"site", own.Threshold("site", future), false},
		"signed rubbish":    {"site", own.Threshold("site", "rubbish"), false},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := join(t, s), join(t, s)
			a.sets("site", 20, 700)
			looks(t, a, b)
			if row.value == "" {
				s.Client().HDel(t.Context(), key, row.rule)
			} else {
				s.Client().HSet(t.Context(), key, row.rule, row.value)
			}
			fresh := join(t, s)
			looks(t, fresh)
			if got := fresh.threshold("login"); got != 0 {
				t.Errorf("a new node has %d for login", got)
			}
			if alarmed := len(fresh.alarms) > 0; alarmed == row.quiet {
				t.Errorf("alarms: %q", fresh.alarms)
			}
			looks(t, join2(a), b, fresh)
			agree(t, "site", 700, a, b, fresh)
			if got := s.Client().HGet(t.Context(), key, "site").Val(); got != value {
				t.Errorf("Redis has %.80q again, want %.80q", got, value)
			}
			s.Client().HDel(t.Context(), key, "login")
			if looks(t, fresh); len(fresh.alarms) > 0 {
				t.Errorf("the alarm goes on: %q", fresh.alarms)
			}
		})
	}
}

// join2 returns the node with its pace as new: what it wrote before does not count.
func join2(m *member) *member {
	m.sync.pace = authority.Pace{}
	return m
}

// What is too long, too much or of another type is removed, and costs no more than
// that; how many other fields there are does not matter.
func TestLarge(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Options{})
	a := join(t, s)
	a.sets("site", 20, 700)
	c := s.Client()
	c.HSet(t.Context(), key, "login", strings.Repeat("x", longest+1))
	var flood []any
	for i := range 20_000 {
		flood = append(flood, fmt.Sprint("rule-", i), "x")
	}
	c.HSet(t.Context(), key, flood...)
	if looks(t, a); c.HExists(t.Context(), key, "login").Val() || !c.HExists(t.Context(), key, "site").Val() {
		t.Error("the long value is there, or the threshold is not")
	}
	for name, spoil := range map[string]func(){
		"a text":        func() { c.Set(t.Context(), key, "x", 0) },
		"two megabytes": func() { c.HSet(t.Context(), key, "site", strings.Repeat("x", 2<<20)) },
	} {
		c.Del(t.Context(), key)
		spoil()
		a, b := join2(a), join(t, s)
		looks(t, a, a, b)
		if got := b.threshold("site"); got != 700 {
			t.Errorf("%s: a new node has %d, want 700", name, got)
		}
	}
}

// A record of a later version is neither taken nor replaced, and is no alarm.
func TestLaterVersion(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Options{})
	a := join(t, s)
	a.sets("site", 20, 700)
	value := a.sync.Judge().Threshold("site", `{"format":2,"rule":"site","more":"of it"}`)
	s.Client().HSet(t.Context(), key, "site", value)
	looks(t, a)
	if got := s.Client().HGet(t.Context(), key, "site").Val(); got != value || len(a.alarms) > 0 {
		t.Errorf("Redis has %q; alarms %q", got, a.alarms)
	}
}

// Of what a forger overwrites all the time, a node writes its own at a bounded pace. A
// node in monitor mode writes nothing.
func TestPace(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Options{})
	a := join(t, s)
	a.sets("site", 20, 700)
	written := 0
	for range 50 {
		s.Client().HSet(t.Context(), key, "site", "x")
		looks(t, a)
		if s.Client().HGet(t.Context(), key, "site").Val() != "x" {
			written++
		}
	}
	if written < 1 || written > 20 {
		t.Errorf("written %d times", written)
	}
	a.sets("site", 21, 600)
	if looks(t, a); s.Client().HGet(t.Context(), key, "site").Val() == "x" {
		t.Error("a new change waits for the pace of the one before")
	}
	a = join2(a)
	a.sync.Monitor = true
	s.Client().Del(t.Context(), key)
	if looks(t, a); s.Client().Exists(t.Context(), key).Val() != 0 {
		t.Error("a node in monitor mode writes")
	}
}

// Run publishes what is set while it runs, and another node takes it.
func TestRun(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Options{})
	a, b := join(t, s), join(t, s)
	ctx, end := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for _, m := range []*member{a, b} {
		running.Go(func() { _ = m.sync.Run(ctx) })
	}
	a.sets("site", 10, 800)
	a.changed <- struct{}{}
	redistest.Eventually(t, "the other node has it", func() bool { return b.threshold("site") == 800 })
	end()
	running.Wait()
}

func TestNames(t *testing.T) {
	b := thresholds.Book{}.With(thresholds.Record{Rule: "gone", At: 1}, false, 0).With(thresholds.Record{Rule: "site", At: 1}, false, 0)
	if got := names([]string{"site", "login"}, b); !slices.Equal(got, []string{"gone", "login", "site"}) {
		t.Errorf("looks at %q", got)
	}
}
