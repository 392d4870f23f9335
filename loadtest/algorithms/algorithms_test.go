package algorithms

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"edgeguard/internal/realdata"
	"edgeguard/loadtest/limiter"
	"edgeguard/loadtest/traffic"
	"edgeguard/rules"
)

// judged is everything judged once, for the tests that look at it.
var judged = sync.OnceValue(func() *Result { return judgedBy(1, judgedSlots()...) })

func judgedSlots() []int {
	if raceEnabled {
		return slots[:1]
	}
	return slots
}

// judgedBy judges with a botnet that a test has time for.
func judgedBy(seed uint64, slots ...int) *Result {
	r := &Result{Seed: seed, Claims: claims()}
	for _, a := range limiter.Algorithms() {
		r.Limiters = append(r.Limiters, LimiterInfo{a.Name, a.What, a.Stated})
	}
	for _, slot := range slots {
		if err := r.judgeSlot(context.Background(), Options{Seed: seed, Botnet: 5000}, slot); err != nil {
			panic(err)
		}
	}
	return r
}

// Claims are what the documents get wrong, by figures.
func TestClaims(t *testing.T) {
	var got []map[string]float64
	for _, c := range claims() {
		got = append(got, c.Figures)
		if c.Says == "" || c.Found == "" {
			t.Errorf("%+v", c)
		}
	}
	for i, want := range []map[string]float64{
		{"first_refused_guard_1": 2001, "first_refused_guard_0.95": 1901, "refused_below_the_threshold_guard_0.95": 100},
		{"counted": 1, "exact": 1001},
		{"counted": 1001, "exact": 1},
		{"least": -499, "greatest": 0},
		{"admitted": 200, "limit": 100},
		{"said_s": 29, "true_s": 59},
		{"requests": 2, "counted": 1},
		{"admitted": 200, "limit": 100},
	} {
		for name, n := range want {
			if got[i][name] != n || len(got[i]) != len(want) {
				t.Errorf("claim %d: %v, want %v", i, got[i], want)
			}
		}
	}
}

// In every scenario the ring's error stays inside one slot and never above the
// exact count, the log is exact, and the time to wait is true.
func TestEveryScenario(t *testing.T) {
	r := judged()
	if want := 14 * len(judgedSlots()); len(r.Scenarios) != want {
		t.Fatalf("%d scenarios, want %d", len(r.Scenarios), want)
	}
	for _, s := range r.Scenarios {
		for _, v := range s.Rows {
			if s.Nodes == 1 && v.Limiter != "60-buckets" && (v.Beyond > 0 || v.Early > 0 || v.Late > 0 || v.Silent > 0) {
				t.Errorf("%s, slots of %d s, %s: %+v", s.Name, s.SlotS, v.Limiter, v)
			}
			if v.Asked < (v.Requests-v.Allowed)/askEvery {
				t.Errorf("%s, slots of %d s, %s: %d of %d refusals were asked for the time to wait", s.Name, s.SlotS, v.Limiter, v.Asked, v.Requests-v.Allowed)
			}
			slot := int64(s.SlotS) * 1000
			switch {
			case s.Nodes > 1:
			case strings.HasPrefix(v.Limiter, "ring") && (v.Greatest > 0 || v.ShortestMS >= 0 && v.ShortestMS < 59*slot):
				t.Errorf("%s, slots of %d s, %s is off by more than a slot: %+v", s.Name, s.SlotS, v.Limiter, v)
			case v.Limiter == ring && v.RefusedFalsely > 0:
				t.Errorf("%s, slots of %d s, the ring refuses falsely without a guard: %+v", s.Name, s.SlotS, v)
			case v.Limiter == "sliding-log" && (v.Over > 0 || v.RefusedFalsely > 0 || v.Least < 0 || v.Greatest > 0):
				t.Errorf("%s, slots of %d s, the log is not exact: %+v", s.Name, s.SlotS, v)
			}
		}
	}
}

// Each way has the scenario that is its worst.
func TestWorst(t *testing.T) {
	r := judged()
	for _, want := range []struct {
		scenario, limiter string
		least, greatest   uint32 // the most in a window, in % of the limit
	}{
		{"window-boundary", "fixed-window", 200, 200},
		{"window-boundary", ring, 100, 100},
		{"window-boundary", "ring-0.95", 95, 95},
		{"slot-boundary", ring, 100, 100},
		{"slot-boundary", "60-buckets", 200, 200},
		{"slot-leaves", ring, 200, 200},
		{"slot-leaves", "ring-0.95", 190, 190},
		{"late-burst", "two-counters", 190, 200},
		{"late-burst", "gcra", 190, 200},
		{"spread", ring, 250, 350},
		{"brute-under", "ring-0.95", 90, 100},
	} {
		for _, s := range r.Scenarios {
			v := s.Rows[r.limiterAt(want.limiter)]
			if most := v.Most * 100 / v.Limit; s.Name == want.scenario && (most < want.least || most > want.greatest) {
				t.Errorf("%s, slots of %d s: %s admits %d %%, want %d to %d", s.Name, s.SlotS, want.limiter, most, want.least, want.greatest)
			}
		}
	}
}

// 60 slots that begin anywhere have a limit and no more: who knows the slots gains
// nothing by it over time.
func TestNoMoreOverTime(t *testing.T) {
	all, err := traffic.Scenarios(traffic.Options{Slot: 5 * time.Second, Botnet: 100})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if s.Nodes > 1 {
			continue
		}
		l, admitted := limiter.NewRing(s.Limit, rules.Guard(1_000_000), s.Window), map[uint32]map[time.Duration]uint32{}
		for q := range s.Requests(1) {
			if d, _ := l.Take(clock(q), q.Client, q.Cost); d.Allowed {
				if admitted[q.Client] == nil {
					admitted[q.Client] = map[time.Duration]uint32{}
				}
				admitted[q.Client][q.At/(5*time.Second)] += uint32(q.Cost)
			}
		}
		for client, slots := range admitted {
			for first := range slots {
				sum := uint32(0)
				for slot := first; slot < first+60; slot++ {
					sum += slots[slot]
				}
				if sum > s.Limit {
					t.Errorf("%s: client %d has %d of %d in the 60 slots from %d on", s.Name, client, sum, s.Limit, first)
				}
			}
		}
	}
}

// The same seed gives the same bytes, another seed others.
func TestTheSeedIsAll(t *testing.T) {
	text := func(r *Result) []byte {
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var printed bytes.Buffer
		r.Print(&printed)
		return append(b, printed.Bytes()...)
	}
	if raceEnabled {
		t.Skip("three runs more show the race detector nothing")
	}
	first := text(judgedBy(1, printedSlot))
	if !bytes.Equal(first, text(judgedBy(1, printedSlot))) {
		t.Error("the same seed gives another output")
	}
	if bytes.Equal(first, text(judgedBy(2, printedSlot))) {
		t.Error("another seed gives the same output")
	}
}

// What follows is added up of all scenarios on one node.
func TestConclusions(t *testing.T) {
	r := &Result{}
	allowed := map[string]int{"sliding-log": 20, ring: 25, "ring-0.95": 19, "fixed-window": 40, "two-counters": 21}
	one, spread := Played{Nodes: 1, WindowS: 60}, Played{Nodes: 8, WindowS: 60}
	for _, a := range limiter.Algorithms() {
		r.Limiters = append(r.Limiters, LimiterInfo{Name: a.Name})
		row := Row{Limiter: a.Name}
		row.Requests, row.Allowed, row.Over, row.Limit, row.Most, row.ShortestMS = 50, allowed[a.Name], 3, 10, 15, 59_000
		one.Rows = append(one.Rows, row)
		row.Allowed = 50
		spread.Rows = append(spread.Rows, row)
	}
	r.Scenarios = []Played{one, spread, one}
	got := strings.Join(r.conclusions(), "\n")
	for _, want := range []string{"Of 100 requests on one node the exact log admits 40. The ring admits +10 (+25.0 %) with guard 1, -2 (-5.0 %) with guard 0.95; " +
		"a fixed window +40 (+100.0 %); two counters +2 (+5.0 %).", "gets 150 % of the limit", "no less than 98.3 % of a window"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in:\n%s", want, got)
		}
	}
}

// A recorded log is judged as the others are.
func TestRecorded(t *testing.T) {
	all, err := traffic.Scenarios(traffic.Options{Record: realdata.Path(t, "weblog-wordpress-2016")})
	if err != nil {
		t.Fatal(err)
	}
	s := all[len(all)-1]
	played, err := playAll(t.Context(), 1, &s)
	if err != nil || s.Name != "recorded" || played.Clients < 100 {
		t.Errorf("%s: %+v, %v", s.Name, played, err)
	}
}

// Ten million addresses take less than the document computes, however often
// they come.
func TestMemory(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector takes memory of its own")
	}
	i := slices.IndexFunc(limiter.Algorithms(), func(a limiter.Algorithm) bool { return a.Name == ring })
	a := limiter.Algorithms()[i]
	for _, cost := range []uint16{1, ringCost} {
		const clients, most = 200_000, 200
		if held := heldBy(a, filling{clients, 1, cost}) / clients; held >= most {
			t.Errorf("%d bytes a key at a cost of %d, want less than %d: 10 million would take %.1f GB", held, cost, most, float64(held)/100)
		}
	}
}

// What is printed fits a terminal.
func TestPrint(t *testing.T) {
	r := *judged()
	r.Memory = []Held{{ring, 10_000_000, 60, 156.4, 1_564_000_000}}
	r.Speed = []Speed{{"fixed-window", "mixed", 1 << 20, Spread{100, 90, 12345}}}
	r.Scale = []Scale{{"a decision by one rule", 8, Spread{100, 90, 12345}}}
	r.Costs = []Cost{{"Rules/20-hostile-stars", "", 595603, true}}
	r.Claims, r.Notes = append(r.Claims, r.memoryClaims()...), r.conclusions()
	var out strings.Builder
	r.Print(&out)
	for line := range strings.Lines(out.String()) {
		if utf8.RuneCountInString(line) > 101 {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
}

// Who interrupts waits for nothing.
func TestInterrupt(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	began := time.Now()
	if _, err := Run(ctx, Options{}, io.Discard); err == nil || time.Since(began) > time.Minute {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}
