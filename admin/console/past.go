package console

import (
	"fmt"
	"time"

	"edgeguard/admin"
	"edgeguard/admin/console/draw"
	"edgeguard/internal/words"
	"edgeguard/tuning"
)

// pastDay is how many keys were over a rule's limits in each window of the last day, as
// the page of the rule draws and lists them.
type pastDay struct {
	admin.RuleHistory
	Lower, Higher []draw.Rect // bars of the lower and of the higher limit
	LowerIsTried  bool
	Gone          []draw.Rect // of the time of which nothing is known
	Left, Below   []draw.Tick
	Label         string
	Rows          []pastRow
}

// pastRow is a window in numbers, or a time of which nothing is known.
type pastRow struct {
	From, To    string
	Gone        bool
	Keys        uint64
	Live, Tried uint64
	LiveShare   string
	TriedShare  string
}

// newPastDay draws a history; nil where nothing is kept yet. clock writes a time of it.
func newPastDay(h admin.RuleHistory, clock func(time.Time) string) *pastDay {
	if len(h.Windows) == 0 {
		return nil
	}
	d := &pastDay{RuleHistory: h, LowerIsTried: h.Tried > 0 && h.TriedLimit < h.Limit}
	top := uint64(1)
	for _, w := range h.Windows {
		if top = max(top, w.Live.Keys); w.Tried != nil {
			top = max(top, w.Tried.Keys)
		}
	}
	d.Label = fmt.Sprintf("How many were over in each %s of the last day, at most %s", words.Seconds(h.Step), words.Number(top))
	d.draw(float64(top)*1.1, clock)
	return d
}

// draw makes the bars, and the rows of the table. What is between two windows, before
// the first and behind the last is not drawn as zero.
func (d *pastDay) draw(top float64, clock func(time.Time) string) {
	begins, step := d.AsOf.Add(-tuning.Length), time.Duration(d.Step)*time.Second
	x := func(t time.Time) float64 { return min(max(float64(t.Sub(begins))/float64(tuning.Length), 0), 1) }
	bar := func(from time.Time, keys uint64) draw.Rect {
		left, height := x(from), float64(keys)/top
		return draw.Rect{X: draw.Part(left), Y: draw.Part(1 - height), W: draw.Part(max(x(from.Add(step))-left, 0)), H: draw.Part(height)}
	}
	known := begins
	gone := func(to time.Time) {
		if to.Sub(known) < step {
			return
		}
		d.Gone = append(d.Gone, draw.Rect{X: draw.Part(x(known)), Y: "0", W: draw.Part(x(to) - x(known)), H: "100%"})
		d.Rows = append(d.Rows, pastRow{From: clock(known), To: clock(to), Gone: true})
	}
	for _, w := range d.Windows {
		gone(w.From)
		known = w.From.Add(step)
		row := pastRow{From: clock(w.From), To: clock(w.AsOf), Keys: w.Keys, Live: w.Live.Keys, LiveShare: words.PercentShare(w.Live.RequestShare)}
		lower, higher := w.Live.Keys, uint64(0)
		if w.Tried != nil {
			row.Tried, row.TriedShare = w.Tried.Keys, words.PercentShare(w.Tried.RequestShare)
			if higher = w.Tried.Keys; d.LowerIsTried {
				lower, higher = higher, lower
			}
		}
		d.Rows = append(d.Rows, row)
		if lower > 0 {
			d.Lower = append(d.Lower, bar(w.From, lower))
		}
		if higher > 0 {
			d.Higher = append(d.Higher, bar(w.From, higher))
		}
	}
	// The window that is under way has no end yet, and is no gap.
	gone(d.AsOf.Add(-step))
	for _, t := range draw.Ticks(top, func(v float64) float64 { return 100 * (1 - v/top) }) {
		d.Left = append(d.Left, draw.Tick{At: t.At + "%", Label: t.Label})
	}
	for hour := begins.Truncate(4 * time.Hour).Add(4 * time.Hour); hour.Before(d.AsOf); hour = hour.Add(4 * time.Hour) {
		d.Below = append(d.Below, draw.Tick{At: draw.Part(x(hour)), Label: hour.UTC().Format("15:04"), Minor: hour.Hour()%8 != 0})
	}
}

// LowerClass and HigherClass are how bars are drawn.
func (d *pastDay) LowerClass() string { return d.class(d.LowerIsTried) }

// HigherClass is described at LowerClass.
func (d *pastDay) HigherClass() string { return d.class(!d.LowerIsTried) }

func (d *pastDay) class(tried bool) string {
	if tried && d.Tried > 0 {
		return "tried"
	}
	return "over"
}
