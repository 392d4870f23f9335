package admin

import (
	"fmt"
	"iter"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"edgeguard"
	"edgeguard/admin/watch"
	"edgeguard/blocklist"
	"edgeguard/eventlog"
)

var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

// minutesBefore returns minutes that were measured so long before a time, each with so many
// requests of which one in ten is refused by a rule.
func minutesBefore(end time.Time, requests uint64, rule string, ago ...int) (day []watch.DayMinute) {
	for _, n := range ago {
		day = append(day, watch.DayMinute{Begin: end.Add(-time.Duration(n) * time.Minute), Requests: requests, Denied: requests / 10, Blocks: 1,
			Rules: map[string]watch.RuleCounters{rule: {Denied: requests / 10, Blocks: 1}}})
	}
	return day
}

// The last hour has a step a minute, six hours one of five, a day one of fifteen. A step of which
// no minute was measured is not zero but not known.
func TestHoursSteps(t *testing.T) {
	day := minutesBefore(noon, 100, "login", 61, 30, 2, 1)
	for _, c := range []struct {
		span        time.Duration
		step, steps int
		known       string
		requests    uint64
	}{
		{time.Hour, 60, 60, "30:1 58:1 59:1", 300},
		{6 * time.Hour, 300, 72, "59:1 66:1 71:2", 400},
		{24 * time.Hour, 900, 96, "91:1 94:1 95:2", 400},
		{MostHours, 86400, 32, "31:4", 400},
	} {
		h := newHours([][]watch.DayMinute{day}, noon.Add(-c.span), noon, noon)
		known := ""
		for i, n := range h.Minutes {
			if n > 0 {
				known += fmt.Sprintf(" %d:%d", i, n)
			}
		}
		if h.Step != c.step || len(h.Minutes) != c.steps || known != " "+c.known || sum(h.Requests) != c.requests || sum(h.Refused) != c.requests/10 {
			t.Errorf("%s: %d steps of %d s, known%s, %d requests", c.span, len(h.Minutes), h.Step, known, sum(h.Requests))
		}
		if !h.Begin.Add(time.Duration(c.step*c.steps) * time.Second).Equal(h.Until) {
			t.Errorf("%s: from %s until %s", c.span, h.Begin, h.Until)
		}
	}
	h := newHours([][]watch.DayMinute{day}, noon.Add(-24*time.Hour), noon, noon)
	if got := h.PerMinute(h.Requests, 95); got != 100 {
		t.Errorf("%v a minute, want 100", got)
	}
}

// The rules that refused most are apart; what the rest refused, and what is of no rule that was
// counted apart, is together.
func TestHoursRules(t *testing.T) {
	m := watch.DayMinute{Begin: noon.Add(-time.Minute), Requests: 1000, Denied: 600, Rules: map[string]watch.RuleCounters{"quiet": {Blocks: 3}}}
	for i := range 10 {
		m.Rules[fmt.Sprintf("r%d", i)] = watch.RuleCounters{Denied: uint64(10 * (i + 1))}
	}
	h := newHours([][]watch.DayMinute{{m}}, noon.Add(-time.Minute), noon, noon)
	var names []string
	for _, r := range h.Rules {
		names = append(names, r.Rule)
	}
	if diff := cmp.Diff([]string{"r9", "r8", "r7", "r6", "r5", "r4", "r3", "r2"}, names); diff != "" {
		t.Error(diff)
	}
	if len(h.Others) != 1 || h.Others[0] != 80 { // 20 of r1, 10 of r0, and 50 of no rule
		t.Errorf("others: %v", h.Others)
	}
}

// A span of seconds is the minute around it: a chart of nothing has no axis.
func TestHoursOfSeconds(t *testing.T) {
	from := noon.Add(10 * time.Second)
	h := newHours([][]watch.DayMinute{minutesBefore(noon.Add(time.Minute), 100, "login", 1)}, from, from.Add(time.Second), noon.Add(time.Hour))
	if len(h.Requests) != 1 || h.Requests[0] != 100 || !h.Until.After(h.Begin) {
		t.Errorf("%+v", h)
	}
}

// Only a span in which nothing was refused at all says that it would have been.
func TestHoursInMonitor(t *testing.T) {
	day := minutesBefore(noon, 100, "login", 3, 2, 1)
	for watched, want := range []bool{false, false, false, true} {
		for i := range day {
			day[i].Monitor = i < watched
		}
		if h := newHours([][]watch.DayMinute{day}, noon.Add(-time.Hour), noon, noon); h.Monitor != want {
			t.Errorf("%d of three minutes in mode monitor: %v", watched, h.Monitor)
		}
	}
}

// watching is a node in mode monitor with some blocks.
type watching struct {
	Reader
	nodes   []FleetNode
	asked   []watch.Span // of other nodes
	monitor bool
	day     []watch.DayMinute
	refused []uint32 // of 203.0.113.0, .1 …
}

func (w *watching) Now() time.Time { return noon }
func (w *watching) FleetNodes(asked ...watch.Span) []FleetNode {
	w.asked = append(w.asked, asked...)
	return w.nodes
}

func (w *watching) Stats() Stats           { return Stats{Monitor: w.monitor, Started: noon.Add(-time.Hour)} }
func (w *watching) Day() []watch.DayMinute { return w.day }
func (w *watching) Newest(time.Time, blocklist.Only, blocklist.Place) iter.Seq[edgeguard.Block] {
	return func(yield func(edgeguard.Block) bool) {
		for i := range w.refused {
			addr := netip.AddrFrom4([4]byte{203, 0, 113, byte(i)})
			if !yield(edgeguard.Block{Prefix: netip.PrefixFrom(addr, 32), Rule: edgeguard.ManualRule, Reason: "known here"}) {
				return
			}
		}
	}
}

func (w *watching) Active(blocks []edgeguard.Block) (all []ActiveBlock) {
	for _, b := range blocks {
		all = append(all, ActiveBlock{Block: NewBlock(b), Refused: &w.refused[b.Prefix.Addr().As4()[3]]})
	}
	return all
}

// A node in mode monitor says what it would have refused, by rule and by block, and how to have it
// do so. Minutes in which it did refuse are none of it, and a guest sees no note.
func TestEnforcing(t *testing.T) {
	node := &watching{monitor: true, day: minutesBefore(noon, 100, "login", 30, 3, 2), refused: []uint32{5, 0, 41, 7}}
	node.day[1].Monitor, node.day[2].Monitor = true, true
	node.day[2].Rules["search"] = watch.RuleCounters{Denied: 90}
	v := NewView(node, NewEvents("edge-1", eventlog.New(eventlog.Config{}), nil))
	e, ok := v.Enforcing(t.Context())
	if !ok || !e.Since.Equal(noon.Add(-3*time.Minute)) || e.Requests != 200 || e.Refused != 20 || e.Fix == "" {
		t.Errorf("%v, %+v", ok, e)
	}
	if diff := cmp.Diff([]RuleRefusals{{"search", 90}, {"login", 20}}, e.Rules); diff != "" {
		t.Error(diff)
	}
	if len(e.Most) != 3 || *e.Most[0].Refused != 41 || e.Most[0].Reason == "" || *e.Most[2].Refused != 5 {
		t.Errorf("%+v", e.Most)
	}
	if e, ok := v.ForGuests().Enforcing(t.Context()); !ok || len(e.Most) != 3 || e.Most[0].Reason != "" {
		t.Errorf("a guest: %v, %+v", ok, e.Most)
	}
	node.monitor = false
	if _, ok := v.Enforcing(t.Context()); ok {
		t.Error("a node that enforces would enforce")
	}
}

// A span is the sum of all nodes; one that says nothing of it is named. A minute counts once however many
// nodes measured it, and what no node keeps is asked of none.
func TestHoursOfAFleet(t *testing.T) {
	past := noon.Add(-10 * time.Hour)
	for name, c := range map[string]struct {
		from, until time.Time
		asked       watch.Span
	}{
		"the last hour": {asked: watch.Span{Step: 1, Length: 61}},
		"6 h":           {noon.Add(-6 * time.Hour), noon, watch.Span{Step: 5, Length: 73}},
		"24 h":          {noon.Add(-24 * time.Hour), noon, watch.Span{Step: 15, Length: 97}},
		"a past hour":   {past, past.Add(time.Hour), watch.Span{Step: 1, Length: 61, Until: past.Add(time.Hour).Unix() / 60}},
		"a past day":    {past.Add(-24 * time.Hour), past.Add(time.Minute), watch.Span{Step: 15, Length: 98, Until: past.Unix()/900 + 1}},
	} {
		end := noon
		if !c.until.IsZero() {
			end = c.until
		}
		said := func(day []watch.DayMinute) *FleetFigures {
			return &FleetFigures{Spans: map[watch.Span][]watch.DayMinute{c.asked: day}}
		}
		node := &watching{day: minutesBefore(end, 100, "login", 3, 2, 1), nodes: []FleetNode{
			{Name: "edge-1", Alive: true, Figures: said(minutesBefore(end, 9999, "own", 1))},
			{Name: "edge-2", Alive: true, Figures: said(minutesBefore(end, 1000, "search", 30, 2, 1))},
			{Name: "edge-3", Alive: true}, {Name: "edge-4"}, {Name: "edge-5", Alive: true, Figures: &FleetFigures{}},
		}}
		v := NewView(node, NewEvents("edge-1", eventlog.New(eventlog.Config{}), nil))
		h := v.Hours(t.Context(), c.from, c.until)
		last := len(h.Minutes) - 1
		if sum(h.Requests) != 3300 || sum(h.Refused) != 330 || c.asked.Step == 1 && (h.Requests[last] != 1100 || h.Minutes[last] != 1 || h.PerMinute(h.Requests, last) != 1100) {
			t.Errorf("%s: %+v", name, h)
		}
		if diff := cmp.Diff([]string{"edge-2", "edge-3", "edge-5"}, append(h.Nodes, h.Silent...)); diff != "" || len(h.Rules) != 2 || h.Rules[0].Rule != "search" {
			t.Errorf("%s: %s, %+v", name, diff, h.Rules)
		}
		if diff := cmp.Diff([]watch.Span{c.asked}, node.asked); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		node.asked = nil
		if h := v.Hours(t.Context(), noon.Add(-26*time.Hour), noon.Add(-25*time.Hour)); h.Nodes != nil || h.Silent != nil || node.asked != nil {
			t.Errorf("of the day before: %+v", h)
		}
	}
}

// A step of another node counts by the minutes that it measured, beside a node that has run for a minute alone.
func TestStepsOfAnotherNode(t *testing.T) {
	theirs := []watch.DayMinute{{Begin: noon.Add(-15 * time.Minute), Measured: 12, Requests: 1200}}
	h := newHours([][]watch.DayMinute{minutesBefore(noon, 60, "login", 1), theirs}, noon.Add(-24*time.Hour), noon, noon)
	if last := len(h.Minutes) - 1; h.Minutes[last] != 12 || h.PerMinute(h.Requests, last) != 105 {
		t.Errorf("%+v", h)
	}
}
