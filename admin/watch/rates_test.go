package watch

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var begin = time.Unix(1_800_000_000, 0).UTC() // a whole minute

// A series has what a list of all events has, step by step.
func TestAgainstEvents(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	var r Rates
	totals := Counters{Rules: map[string]RuleCounters{}}
	failed := map[int64]uint64{}
	requests, denied, site := map[int64]uint64{}, map[int64]uint64{}, map[int64]uint64{} // by second
	const ran = 4000
	for second := int64(0); second <= ran; second++ {
		now := begin.Add(time.Duration(second) * time.Second)
		r.Note(now, func() Counters {
			rules := map[string]RuleCounters{}
			for name, one := range totals.Rules {
				rules[name] = one
			}
			return Counters{Requests: totals.Requests, Denied: totals.Denied, Blocks: totals.Blocks, Failed: totals.Failed, Rules: rules}
		})
		n := uint64(random.IntN(50))
		requests[second], totals.Requests = n, totals.Requests+n
		n /= 3
		denied[second], totals.Denied = n, totals.Denied+n
		if second/100%4 == 1 { // it fails for 100 seconds now and then
			failed[second], totals.Failed = 1, totals.Failed+1
		}
		if random.IntN(100) == 0 {
			site[second], totals.Blocks = 1, totals.Blocks+1
			one := totals.Rules["site"]
			one.Blocks++
			totals.Rules["site"] = one
		}
	}
	for _, s := range r.Series() {
		step := int64(s.Step)
		until := ran / step * step
		want := Series{Step: s.Step, Until: begin.Add(time.Duration(until) * time.Second), Rules: []RuleSeries{}}
		rule, any := RuleSeries{Rule: "site"}, false
		for from := until - 60*step; from < until; from += step {
			var sum, refused, blocks, fails uint64
			for second := from; second < from+step; second++ {
				sum, refused, blocks = sum+requests[second], refused+denied[second], blocks+site[second]
				fails += failed[second]
			}
			want.Requests, want.Denied, want.Blocks = append(want.Requests, sum), append(want.Denied, refused), append(want.Blocks, blocks)
			want.Failed = append(want.Failed, fails)
			rule.Denied, rule.Blocks, any = append(rule.Denied, 0), append(rule.Blocks, blocks), any || blocks > 0
		}
		if any {
			want.Rules = append(want.Rules, rule)
		}
		if diff := cmp.Diff(want, s); diff != "" {
			t.Errorf("%d s: %s", s.Step, diff)
		}
	}
}

// A young node has short series, a pause is shown as such, and a counter that began
// again or a clock that stepped back makes no huge number.
func TestOddTimes(t *testing.T) {
	var r Rates
	at := func(second int64, requests uint64) []uint64 {
		r.Note(begin.Add(time.Duration(second)*time.Second), func() Counters { return Counters{Requests: requests} })
		return r.Series()[0].Requests
	}
	for i, c := range []struct {
		second   int64
		requests uint64
		want     []uint64
	}{
		{3, 10, []uint64{}}, // before the node ran
		{4, 20, []uint64{}},
		{5, 30, []uint64{20}},
		{9, 99, []uint64{20}},
		{22, 35, []uint64{20, 0, 0, 5}},
		{25, 2, []uint64{20, 0, 0, 5, 2}},
		{1, 50, []uint64{}},
		{5, 51, []uint64{1}},
	} {
		if got := at(c.second, c.requests); !cmp.Equal(got, c.want) {
			t.Errorf("%d: %v, want %v", i, got, c.want)
		}
	}
	if got := at(100_000, 52); len(got) != steps || got[steps-1] != 1 || got[0] != 0 {
		t.Errorf("after a day: %v", got)
	}
}

// Rules beyond the bound count in the counters only.
func TestRulesAreBounded(t *testing.T) {
	var r Rates
	rules := map[string]RuleCounters{}
	for second := int64(0); second <= 5; second += 5 {
		for i := range 3 * maxRules {
			rules[fmt.Sprintf("rule-%03d", i)] = RuleCounters{Denied: uint64(second)}
		}
		r.Note(begin.Add(time.Duration(second)*time.Second), func() Counters { return Counters{Denied: uint64(second), Rules: map[string]RuleCounters(rules)} })
		rules = map[string]RuleCounters{}
	}
	if s := r.Series()[0]; len(s.Rules) != maxRules || s.Denied[0] != 5 {
		t.Errorf("%d rules, %v denied", len(s.Rules), s.Denied)
	}
}

// What a node did lately is of the last whole minute: blocks that it made, and events
// that it refused a second.
func TestMinute(t *testing.T) {
	var r Rates
	for second := range int64(601) {
		if m := r.Minute(); second < 6 && m != (Minute{}) || second == 6 && m != (Minute{5, 2}) {
			t.Errorf("after %d s: %+v", second, m)
		}
		// One block a second for nine minutes, then two; two and then four events.
		made := uint64(second + max(second-540, 0))
		r.Note(begin.Add(time.Duration(second)*time.Second), func() Counters {
			return Counters{Denied: 2 * made, Blocks: 7 * made, Here: made}
		})
	}
	if m := r.Minute(); m.Blocks != 120 || math.Abs(m.Denied-4) > 1e-9 {
		t.Errorf("%+v", m)
	}
}
