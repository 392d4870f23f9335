package draw

import (
	"fmt"
	"math"
	"strings"

	"edgeguard/internal/words"
)

// Curve is how many keys count more than so many: both axes are logarithmic. Its
// height at a limit is the number of keys over it, and a level stretch is a gap.
// Places are in parts of the plot, so that it has any size and its texts keep
// theirs.
type Curve struct {
	Bars   []Bar
	Line   string // points of a polyline, in thousandths of the plot
	Limits []Mark // candidates first, and then the limit in force
	Tried  *Mark  // nil where it is the limit in force
	Over   *Mark  // how many are over the tried limit, where the curve has that height
	Gap    *Span
	Left   []Tick
	Below  []Tick
	Label  string
	// Right and Top are where the axes end, as logarithms to the base 10: scripts
	// compute places from them and from [Begin].
	Right, Top float64
}

// Bar is a bar of the histogram.
type Bar struct {
	Rect
	Over bool // all of it counts more than the tried limit
}

// Mark is a line of a curve, with its label.
type Mark struct {
	X, Y   string // Y is empty where it is as high as the plot
	Anchor string // of the label: start, middle or end
	Class  string
	Label  string
}

// Span is a part of the axis below.
type Span struct{ X, W string }

// Begin is where both axes of a curve begin, as a logarithm to the base 10: below 1,
// so that what counts 1 has a width, and what no key counts lies on the ground.
var Begin = math.Log10(0.7)

// barWidth is how wide a bar is at least, in decades: the buckets of a histogram
// are narrower, and their widths jump at each doubling.
const barWidth = 0.075

// Distribution is how many keys count how much, and the limits that a curve shows.
type Distribution struct {
	Buckets    []Bucket      // the lowest counts first, at least one
	Keys       uint64        // in all buckets
	Counted    string        // Keys in words
	Unit       words.Measure // of all counts and limits
	Limit      uint32        // in force
	Candidates []uint32      // limits
	Trying     bool          // Tried is another limit than that in force
	Tried      Tried
	// GapLow and GapHigh are the counts on both sides of the suggested gap; 0 for
	// none.
	GapLow, GapHigh uint32
}

// Bucket is how many keys count about so many.
type Bucket struct {
	Low, High    uint32
	Keys, AtMore uint64 // with this count; with this count or more
}

// Tried is a threshold that is tried, its limit, and how many keys are over it.
type Tried struct {
	Threshold, Limit uint32
	Keys             uint64
}

// NewCurve draws a distribution, the lowest counts first, and the limits.
func NewCurve(d *Distribution) *Curve {
	last := d.Buckets[len(d.Buckets)-1]
	furthest := max(last.High, d.Limit, d.Tried.Limit)
	for _, c := range d.Candidates {
		furthest = max(furthest, c)
	}
	c := &Curve{
		Right: math.Log10(float64(furthest) * 1.35), Top: math.Log10(float64(max(d.Keys, 9))) + 0.12,
		Label: fmt.Sprintf("%s by how many each counts; the limit is %s", d.Counted, d.Unit.Of(d.Limit)),
	}
	c.Line = c.line(d.Buckets)
	c.bars(d.Buckets, d.Tried.Limit)
	for _, other := range d.Candidates {
		c.Limits = append(c.Limits, c.mark(other, "candidate", ""))
	}
	c.Limits = append(c.Limits, c.mark(d.Limit, "limit", "live limit "+d.Unit.Amount(d.Limit)))
	if d.Trying {
		tried := c.mark(d.Tried.Limit, "tried", "try "+words.Number(d.Tried.Threshold)+" · limit "+d.Unit.Amount(d.Tried.Limit))
		over := c.mark(d.Tried.Limit, "over", words.Number(d.Tried.Keys)+" over")
		over.Y = Part(c.y(float64(d.Tried.Keys)))
		if over.Anchor == "middle" {
			over.Anchor = "start"
		}
		c.Tried, c.Over = &tried, &over
	}
	if d.GapHigh > 0 {
		from, to := c.x(float64(d.GapLow)+0.5), c.x(float64(d.GapHigh)-0.5)
		c.Gap = &Span{Part(from), Part(max(to-from, 0))}
	}
	c.ticks(float64(max(d.Unit.Each, 1)))
	return c
}

// x is the place of a count, from 0 to 1. Counts are whole: a limit's line is drawn
// between it and the next count, which is the first that is over.
func (c *Curve) x(count float64) float64 {
	return min(max((math.Log10(max(count, 0.1))-Begin)/(c.Right-Begin), 0), 1)
}

// y is the place of a number of keys, from 0 at the top to 1.
func (c *Curve) y(keys float64) float64 {
	return 1 - min(max((math.Log10(max(keys, 0.7))-Begin)/(c.Top-Begin), 0), 1)
}

// Part writes a part of a drawing, from 0 to 1, as a percentage.
func Part(of float64) string { return fmt.Sprintf("%.2f%%", 100*of) }

func (c *Curve) mark(limit uint32, class, label string) Mark {
	m := Mark{X: Part(c.x(float64(limit) + 0.5)), Anchor: "middle", Class: class, Label: label}
	switch x := c.x(float64(limit)); {
	case x < 0.25:
		m.Anchor = "start"
	case x > 0.75:
		m.Anchor = "end"
	}
	return m
}

// line draws how many keys count more than each count.
func (c *Curve) line(buckets []Bucket) string {
	var line strings.Builder
	fmt.Fprintf(&line, "0,%.1f", 1000*c.y(float64(buckets[0].AtMore)))
	for _, b := range buckets {
		fmt.Fprintf(&line, " %.1f,%.1f %.1f,%.1f", 1000*c.x(float64(b.Low)-0.5), 1000*c.y(float64(b.AtMore)), 1000*c.x(float64(b.High)+0.5), 1000*c.y(float64(b.AtMore-b.Keys)))
	}
	return line.String()
}

// bars draws how many keys count about so many, in bars that are wide enough to
// compare.
func (c *Curve) bars(buckets []Bucket, tried uint32) {
	for i := 0; i < len(buckets); {
		low, keys := buckets[i].Low, uint64(0)
		from, high := math.Log10(float64(low)-0.5), low
		for i < len(buckets) && (keys == 0 || math.Log10(float64(buckets[i].High)+0.5)-from <= barWidth) {
			if over := buckets[i].Low > tried; keys > 0 && over != (low > tried) {
				break
			}
			keys, high = keys+buckets[i].Keys, buckets[i].High
			i++
		}
		left, right := c.x(float64(low)-0.5), c.x(float64(high)+0.5)
		top := c.y(float64(keys))
		c.Bars = append(c.Bars, Bar{Rect{Part(left), Part(top), Part(max(right-left, 0.003)), Part(1 - top)}, low > tried})
	}
}

// ticks marks the axes: every power of ten, and below also 2 and 5 times it where
// there is room. Below, each is what one adds to a count.
func (c *Curve) ticks(each float64) {
	for n := 1.0; math.Log10(n) < c.Top; n *= 10 {
		c.Left = append(c.Left, Tick{At: Part(c.y(n)), Label: words.Number(int64(n))})
	}
	for n := 1.0; math.Log10(n*each) < c.Right; n *= 10 {
		for _, m := range []float64{1, 2, 5} {
			if math.Log10(n*m*each) < c.Right-0.05 {
				c.Below = append(c.Below, Tick{Part(c.x(n * m * each)), words.Number(int64(n * m)), m != 1})
			}
		}
	}
}
