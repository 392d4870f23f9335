// Package draw computes where the marks of the console's drawings are: the numbers that
// a template writes into SVG. It is pure.
package draw

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"edgeguard/internal/words"
)

// Meter is a count beside its limit: a bar with the limit at half its width.
type Meter struct {
	Fill  int // of 96
	Over  bool
	Times string // "×16" from twice the limit on
}

// meterWidth is in pixels.
const meterWidth = 96

// NewMeter returns the meter of a count and its limit.
func NewMeter(count, limit uint32) Meter {
	m := Meter{Over: count > limit}
	if limit == 0 {
		return m
	}
	m.Fill = int(min(uint64(meterWidth), uint64(count)*meterWidth/2/uint64(limit)))
	if times := count / limit; times >= 2 {
		m.Times = fmt.Sprintf("×%d", times)
	}
	return m
}

// Rect is a bar of a drawing.
type Rect struct{ X, Y, W, H string }

func newRect(x, y, w, h float64) Rect { return Rect{px(x), px(y), px(w), px(h)} }

func px(v float64) string { return fmt.Sprintf("%.1f", v) }

// Spark is a small drawing of the slots of a window. Its bars are one path: as an
// element each they made most of a page of fifty rows.
type Spark struct {
	Path  string
	Label string // the span of all slots
	Most  uint32 // of a slot
	Slot  int    // seconds
}

const sparkWidth, sparkHeight = 120, 22

// NewSpark draws slots, the oldest first. A slot without events has no bar.
func NewSpark(slots []uint16, window int) Spark {
	highest := uint16(0)
	for _, n := range slots {
		highest = max(highest, n)
	}
	step := float64(sparkWidth) / float64(max(len(slots), 1))
	path := make([]byte, 0, 24*len(slots))
	add := func(command string, v float64) { path = strconv.AppendFloat(append(path, command...), v, 'f', 1, 64) }
	for i, n := range slots {
		if n > 0 {
			h := max(1, float64(n)/float64(highest)*sparkHeight)
			add("M", float64(i)*step)
			add(" ", sparkHeight)
			add("v", -h)
			add("h", step*0.8)
			add("V", sparkHeight)
			path = append(path, 'z')
		}
	}
	return Spark{string(path), "the last " + words.Seconds(window), uint32(highest), window / max(len(slots), 1)}
}

// Level is a horizontal line of a chart.
type Level struct{ Y, LabelY, Class, Label string }

// Tick is a mark of an axis. A minor one is left out where there is little room.
type Tick struct {
	At, Label string
	Minor     bool
}

// Chart is what an address counted: bars of the slots, and their sum so far as a
// line against the limits.
type Chart struct {
	Bars   []Rect
	Sum    string // points of a polyline
	Levels []Level
	Left   []Tick
	Below  []Tick
	Label  string
}

// The chart's size and the margins of its plot, in pixels.
const (
	chartWidth, chartHeight = 780.0, 300.0
	plotLeft, plotRight     = 56.0, 756.0
	plotTop, plotBottom     = 12.0, 272.0
)

// NewChart draws the slots of a rule's window and its limits. The axis is in the unit.
func NewChart(slots []uint16, window int, unit words.Measure, levels []Limit) Chart {
	each := float64(max(unit.Each, 1))
	sum, highest := uint32(0), uint16(1)
	for _, n := range slots {
		sum += uint32(n)
		highest = max(highest, n)
	}
	top := float64(max(sum, 1))
	for _, l := range levels {
		top = max(top, float64(l.At))
	}
	top *= 1.08
	y := func(v float64) float64 { return plotBottom - v/top*(plotBottom-plotTop) }
	c := Chart{Label: fmt.Sprintf("%d slots of %d seconds that add up to %s", len(slots), window/max(len(slots), 1), unit.Of(sum))}
	step := (plotRight - plotLeft) / float64(max(len(slots), 1))
	var line strings.Builder
	sum = 0
	for i, n := range slots {
		x := plotLeft + float64(i)*step
		if n > 0 {
			h := float64(n) / float64(highest) * (plotBottom - plotTop) * 0.3
			c.Bars = append(c.Bars, newRect(x, plotBottom-h, step*0.8, h))
		}
		fmt.Fprintf(&line, "%.1f,%.1f ", x, y(float64(sum)))
		sum += uint32(n)
		fmt.Fprintf(&line, "%.1f,%.1f ", x, y(float64(sum)))
	}
	fmt.Fprintf(&line, "%.1f,%.1f", plotRight, y(float64(sum)))
	c.Sum = line.String()
	c.Levels = newLevels(levels, unit, y)
	c.Left = Ticks(top/each, func(v float64) float64 { return y(v * each) })
	for i := 0; i <= 4; i++ {
		label := "now"
		if i < 4 {
			label = "−" + words.Length(time.Duration(window*(4-i)/4)*time.Second)
		}
		c.Below = append(c.Below, Tick{At: px(plotLeft + (plotRight-plotLeft)*float64(i)/4), Label: label, Minor: i%2 == 1})
	}
	return c
}

// Limit is a limit that a chart shows.
type Limit struct {
	At           uint32
	Class, Label string
	Below        float64 // where its label is, in pixels under the line
	Raw          bool    // it is told as the config has it: a threshold
}

// newLevels draws limits, those that matter most first. One whose label has no room
// beside the others' is a line without a label.
func newLevels(levels []Limit, unit words.Measure, at func(float64) float64) []Level {
	const room = 15 // of a label, in pixels
	var all []Level
	var taken []float64
	for _, l := range levels {
		y := at(float64(l.At))
		label := y + l.Below
		if label > plotBottom-4 { // where the axis has its own
			label = y - 4
		}
		one := Level{Y: px(y), LabelY: px(label), Class: l.Class, Label: l.Label + " " + unit.Amount(l.At)}
		if l.Raw {
			one.Label = l.Label + " " + words.Number(l.At) + unit.Note()
		}
		if slices.ContainsFunc(taken, func(other float64) bool { return math.Abs(other-label) < room }) {
			one.Label = ""
		} else {
			taken = append(taken, label)
		}
		all = append(all, one)
	}
	return all
}

// Ticks marks an axis from 0 to top at round numbers.
func Ticks(top float64, at func(float64) float64) []Tick {
	step := math.Pow(10, math.Floor(math.Log10(max(top/5, 1))))
	for _, times := range []float64{1, 2, 5, 10} {
		if top/(step*times) <= 6 {
			step *= times
			break
		}
	}
	var all []Tick
	for v := 0.0; v <= top; v += step {
		all = append(all, Tick{At: px(at(v)), Label: words.Number(int64(v))})
	}
	return all
}
