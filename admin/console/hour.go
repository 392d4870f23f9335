package console

import (
	"cmp"
	"math"
	"slices"
	"time"

	"edgeguard"
	"edgeguard/admin/console/draw"
	"edgeguard/admin/watch"
)

const (
	// minutes is how long an hour is.
	minutes = 60
	// mostHourRows is how many rules have a row of their own.
	mostHourRows = 6
)

// hourChart is how many blocks were made or changed in each minute of a node's last hour,
// by rule, as the page of the fleet draws and lists them.
type hourChart struct {
	Known   int // minutes, less than 60 until the node has run for so long
	Rows    []hourRow
	Numbers []hourNumber // of the minutes that have any, the newest first
	Failed  int          // minutes in which the site failed
	Marks   string       // the path of their marks
}

// hourRow is the blocks of one rule, those by hand, or all others.
type hourRow struct {
	Rule  string // "" for all others
	Hand  bool
	Slots []uint16 // of 60 minutes, the oldest first
	Sum   uint64
	Peak  uint64 // the most in a minute
	each  []uint64
}

// hourNumber is what one row has in one minute.
type hourNumber struct {
	Row    *hourRow
	From   string
	Blocks uint64
}

// newHour returns the hour of a node's series, nil where it knows no whole minute yet.
// clock writes a time.
func newHour(all []watch.Series, clock func(time.Time) string) *hourChart {
	at := slices.IndexFunc(all, func(s watch.Series) bool { return s.Step == int(time.Minute/time.Second) && len(s.Blocks) > 0 })
	if at < 0 {
		return nil
	}
	s := &all[at]
	h := &hourChart{Known: len(s.Blocks)}
	marked := make([]bool, minutes)
	for i, n := range s.Failed {
		if n > 0 {
			marked[minutes-len(s.Failed)+i] = true
			h.Failed++
		}
	}
	h.Marks = draw.SparkMarks(marked)
	for i := range s.Rules {
		rule := &s.Rules[i]
		h.add(hourRow{Rule: rule.Rule, Hand: rule.Rule == edgeguard.ManualRule, each: rule.Blocks})
	}
	slices.SortStableFunc(h.Rows, func(a, b hourRow) int { return cmp.Compare(b.Sum, a.Sum) })
	h.gather(s.Blocks)
	for i := range s.Blocks {
		minute := len(s.Blocks) - 1 - i
		from := clock(s.Until.Add(-time.Duration(i+1) * time.Minute))
		for j := range h.Rows {
			if n := h.Rows[j].each[minute]; n > 0 {
				h.Numbers = append(h.Numbers, hourNumber{Row: &h.Rows[j], From: from, Blocks: n})
			}
		}
	}
	return h
}

// add appends a row unless it is empty.
func (h *hourChart) add(r hourRow) {
	r.Slots = make([]uint16, minutes)
	for i, n := range r.each {
		r.Sum, r.Peak = r.Sum+n, max(r.Peak, n)
		r.Slots[minutes-len(r.each)+i] = uint16(min(n, math.MaxUint16))
	}
	if r.Sum > 0 {
		h.Rows = append(h.Rows, r)
	}
}

// gather makes one row of all blocks that are in none of the greatest: of further
// rules, and of those that the series do not keep apart.
func (h *hourChart) gather(all []uint64) {
	h.Rows = h.Rows[:min(len(h.Rows), mostHourRows)]
	rest := slices.Clone(all)
	for _, r := range h.Rows {
		for i, n := range r.each {
			rest[i] -= min(n, rest[i])
		}
	}
	h.add(hourRow{each: rest})
}
