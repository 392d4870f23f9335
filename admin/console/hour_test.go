package console

import (
	"fmt"
	"math"
	"testing"
	"time"

	"edgeguard/admin/watch"
)

var until = time.Date(2026, 11, 22, 13, 0, 0, 0, time.UTC)

func clock(t time.Time) string { return t.Format("15:04:05") }

// series is the last minutes of a node; each rule has its blocks in the last of them.
func series(known int, rules ...watch.RuleSeries) []watch.Series {
	s := watch.Series{Step: 60, Until: until, Blocks: make([]uint64, known)}
	for _, r := range rules {
		each := make([]uint64, known)
		copy(each[known-len(r.Blocks):], r.Blocks)
		s.Rules = append(s.Rules, watch.RuleSeries{Rule: r.Rule, Blocks: each})
		for i, n := range each {
			s.Blocks[i] += n
		}
	}
	return []watch.Series{{Step: 5, Until: until, Blocks: []uint64{9}, Rules: []watch.RuleSeries{{Rule: "fine", Blocks: []uint64{9}}}}, s}
}

// Nothing is drawn of a node that has not run for a minute.
func TestHourOfYoungNode(t *testing.T) {
	for _, s := range [][]watch.Series{nil, {{Step: 5, Until: until, Blocks: []uint64{1}}}, {{Step: 60}}} {
		if h := newHour(s, clock); h != nil {
			t.Errorf("%+v: %+v", s, h)
		}
	}
	if h := newHour(series(3), clock); h == nil || h.Known != 3 || h.Rows != nil || h.Numbers != nil {
		t.Errorf("three minutes without a block: %+v", h)
	}
}

// Minutes in which the site failed are marked, also where nobody was blocked.
func TestHourFailed(t *testing.T) {
	s := series(3)
	s[1].Failed = []uint64{0, 7, 60}
	if h := newHour(s, clock); h.Failed != 2 || h.Marks != "M116.0 0v22h2.0V0zM118.0 0v22h2.0V0z" {
		t.Errorf("%d minutes, %q", h.Failed, h.Marks)
	}
	if h := newHour(series(3), clock); h.Failed != 0 || h.Marks != "" {
		t.Errorf("it works: %+v", h)
	}
}

// The greatest rules have a row each, and the bars of a young node are at the right.
func TestHourRows(t *testing.T) {
	h := newHour(series(2, watch.RuleSeries{Rule: "login", Blocks: []uint64{1, 2}}, watch.RuleSeries{Rule: "manual", Blocks: []uint64{1, 0}},
		watch.RuleSeries{Rule: "only-denies", Blocks: []uint64{0, 0}}, watch.RuleSeries{Rule: "site", Blocks: []uint64{70_000, 5}}), clock)
	if got := fmt.Sprint(rowsOf(h)); got != "[site 70005 70000, login 3 2, manual by hand 1 1]" || h.Known != 2 {
		t.Fatalf("%s of %d minutes", got, h.Known)
	}
	if s := h.Rows[0].Slots; len(s) != 60 || s[57] != 0 || s[58] != math.MaxUint16 || s[59] != 5 {
		t.Errorf("%d bars: %v", len(s), s)
	}
	var listed []string
	for _, n := range h.Numbers {
		listed = append(listed, fmt.Sprint(n.From, " ", n.Row.Rule, " ", n.Blocks))
	}
	if got := fmt.Sprint(listed); got != "[12:59:00 site 5 12:59:00 login 2 12:58:00 site 70000 12:58:00 login 1 12:58:00 manual 1]" {
		t.Error(got)
	}
}

// What a fleet of many rules adds is one row, and no block is left out or counted twice.
func TestHourOfOthers(t *testing.T) {
	for count, want := range map[int]int{1: 1, 6: 6, 7: 7, 64: 7} {
		var rules []watch.RuleSeries
		sum := uint64(0)
		for i := range count {
			rules = append(rules, watch.RuleSeries{Rule: fmt.Sprint("rule-", i), Blocks: []uint64{uint64(i + 1), 1}})
			sum += uint64(i + 2)
		}
		h := newHour(series(60, rules...), clock)
		rows, numbers := uint64(0), uint64(0)
		for _, r := range h.Rows {
			rows += r.Sum
		}
		for _, n := range h.Numbers {
			numbers += n.Blocks
		}
		last := h.Rows[len(h.Rows)-1]
		if len(h.Rows) != want || rows != sum || numbers != sum || h.Rows[0].Rule != fmt.Sprint("rule-", count-1) {
			t.Errorf("%d rules: %d rows with %d, %d listed, of %d", count, len(h.Rows), rows, numbers, sum)
		}
		if (last.Rule == "") != (count > 6) {
			t.Errorf("%d rules: the last row is %+v", count, last)
		}
	}
}

// Blocks of rules that the series do not keep apart are among the others.
func TestHourNotKeptApart(t *testing.T) {
	s := series(2, watch.RuleSeries{Rule: "site", Blocks: []uint64{1, 2}})
	s[1].Blocks[0] += 4
	h := newHour(s, clock)
	if got := fmt.Sprint(rowsOf(h)); got != "[site 3 2,  4 4]" {
		t.Error(got)
	}
}

func rowsOf(h *hourChart) (all []string) {
	for i, r := range h.Rows {
		hand, comma := "", ","
		if r.Hand {
			hand = " by hand"
		}
		if i == len(h.Rows)-1 {
			comma = ""
		}
		all = append(all, fmt.Sprint(r.Rule, hand, " ", r.Sum, " ", r.Peak, comma))
	}
	return all
}
