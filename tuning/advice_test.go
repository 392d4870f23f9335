package tuning

import (
	"slices"
	"testing"
	"time"

	"edgeguard/rules"
)

// aDay is a window every half hour in which so many keys count little, some count high, and nobody between.
func aDay(few func(i int) []uint32) (windows []Window) {
	for i := range 48 {
		var d Distribution
		for n := range 200 {
			d.Add(uint32(1 + n%20))
		}
		for _, high := range few(i) {
			d.Add(high)
		}
		at := time.Date(2026, 3, 1, 0, 30*(i+1), 0, 0, time.UTC)
		windows = append(windows, Window{From: at.Add(-30 * time.Minute), At: at, Counts: d.Sparse()})
	}
	return windows
}

// A threshold is told where a whole day speaks for it, and the one in force is on one side of all that the day shows.
func TestAdvise(t *testing.T) {
	always := aDay(func(int) []uint32 { return []uint32{400, 420} })
	for name, test := range map[string]struct {
		windows []Window
		limit   uint32
		people  rules.People
		want    bool
	}{
		"who counts far above the rest passes": {always, 2000, rules.People{}, true},
		"what many count is over the limit":    {always, 10, rules.People{}, true},
		"the limit is between them":            {always, 300, rules.People{}, false},
		"it is at the edge of the gap":         {always, 399, rules.People{}, false},
		"people count as much":                 {always, 2000, rules.People{Count: 500, Scene: "carrier"}, false},
		"nobody is far above":                  {aDay(func(int) []uint32 { return nil }), 2000, rules.People{}, false},
		"an attack of one evening":             {aDay(func(i int) []uint32 { return slices.Repeat([]uint32{400}, i/30) }), 2000, rules.People{}, false},
		"each half has another gap":            {aDay(func(i int) []uint32 { return append(falling(float64(20+i/24*480), 20, 30), uint32(60+i/24*4000)) }), 9000, rules.People{}, false},
		"half a day":                           {always[:23], 2000, rules.People{}, false},
		"a few windows":                        {[]Window{always[0], always[47]}, 2000, rules.People{}, false},
		"no window":                            {nil, 2000, rules.People{}, false},
		"nothing was counted":                  {aDay(func(int) []uint32 { return nil })[:0:0], 2000, rules.People{}, false},
	} {
		s, ok := Advise(Config{}, test.windows, test.limit, nil, test.people)
		if ok != test.want || ok && (s.Limit <= 20 || s.Limit >= 400) {
			t.Errorf("%s: %v %+v", name, ok, s.Outcome)
		}
	}
	if _, ok := Advise(Config{}, make([]Window, 48), 2000, nil, rules.People{}); ok {
		t.Error("empty windows speak for a threshold")
	}
}

// BenchmarkAdvise is a rule of a busy site, each hour.
func BenchmarkAdvise(b *testing.B) {
	var windows []Window
	for i := range 288 {
		var d Distribution
		for n := range uint32(20000) {
			d.Add(1 + n*uint32(i+1)%90000)
		}
		windows = append(windows, Window{At: time.Unix(int64(300*i), 0), Counts: d.Sparse()})
	}
	for b.Loop() {
		Advise(Config{}, windows, 2000, nil, rules.People{})
	}
}
