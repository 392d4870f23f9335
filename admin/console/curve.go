package console

import (
	"fmt"
	"math"
	"strings"

	"edgeguard/internal/words"
)

// curve is how many keys count more than so many: both axes are logarithmic. Its
// height at a limit is the number of keys over it, and a level stretch is a gap.
// Places are in parts of the plot, so that it has any size and its texts keep
// theirs.
type curve struct {
	Bars   []bar
	Line   string // points of a polyline, in thousandths of the plot
	Limits []mark // candidates first, and then the limit in force
	Tried  *mark  // nil where it is the limit in force
	Over   *mark  // how many are over the tried limit, where the curve has that height
	Gap    *span
	Left   []tick
	Below  []tick
	Label  string
	// Right and Top are where the axes end, as logarithms to the base 10: scripts
	// compute places from them.
	Right, Top float64
}

// bar is a bar of the histogram.
type bar struct {
	rect
	Over bool // all of it counts more than the tried limit
}

// mark is a line of a curve, with its label.
type mark struct {
	X, Y   string // Y is empty where it is as high as the plot
	Anchor string // of the label: start, middle or end
	Class  string
	Label  string
}

// span is a part of the axis below.
type span struct{ X, W string }

// The axes of a curve begin below 1, so that what counts 1 has a width, and what no
// key counts lies on the ground.
var (
	curveLeft   = math.Log10(0.7)
	curveGround = math.Log10(0.7)
)

// barWidth is how wide a bar is at least, in decades: the buckets of a histogram
// are narrower, and their widths jump at each doubling.
const barWidth = 0.075

// newCurve draws a distribution, the lowest counts first, and the limits.
func newCurve(t *shape) *curve {
	last := t.Buckets[len(t.Buckets)-1]
	furthest := max(last.High, t.Limit, t.Tried.Limit)
	for _, c := range t.Candidates {
		furthest = max(furthest, c.Limit)
	}
	c := &curve{
		Right: math.Log10(float64(furthest) * 1.35), Top: math.Log10(float64(max(t.Keys, 9))) + 0.12,
		Label: fmt.Sprintf("%s by how many each counts; the limit is %s", t.count(t.Keys), words.Number(t.Limit)),
	}
	c.Line = c.line(t.Buckets)
	c.bars(t.Buckets, t.Tried.Limit)
	for _, other := range t.Candidates {
		c.Limits = append(c.Limits, c.mark(other.Limit, "candidate", ""))
	}
	c.Limits = append(c.Limits, c.mark(t.Limit, "limit", "live limit "+words.Number(t.Limit)))
	if t.Trying {
		tried := c.mark(t.Tried.Limit, "tried", "try "+words.Number(t.Tried.Threshold)+" · limit "+words.Number(t.Tried.Limit))
		over := c.mark(t.Tried.Limit, "over", words.Number(t.Tried.Keys)+" over")
		over.Y = part(c.y(float64(t.Tried.Keys)))
		if over.Anchor == "middle" {
			over.Anchor = "start"
		}
		c.Tried, c.Over = &tried, &over
	}
	if g := t.Suggestion.Gap; g != nil {
		from, to := c.x(float64(g.Low)+0.5), c.x(float64(g.High)-0.5)
		c.Gap = &span{part(from), part(max(to-from, 0))}
	}
	c.ticks()
	return c
}

// x is the place of a count, from 0 to 1. Counts are whole: a limit's line is drawn
// between it and the next count, which is the first that is over.
func (c *curve) x(count float64) float64 {
	return min(max((math.Log10(max(count, 0.1))-curveLeft)/(c.Right-curveLeft), 0), 1)
}

// y is the place of a number of keys, from 0 at the top to 1.
func (c *curve) y(keys float64) float64 {
	return 1 - min(max((math.Log10(max(keys, 0.7))-curveGround)/(c.Top-curveGround), 0), 1)
}

func part(of float64) string { return fmt.Sprintf("%.2f%%", 100*of) }

func (c *curve) mark(limit uint32, class, label string) mark {
	m := mark{X: part(c.x(float64(limit) + 0.5)), Anchor: "middle", Class: class, Label: label}
	switch x := c.x(float64(limit)); {
	case x < 0.2:
		m.Anchor = "start"
	case x > 0.8:
		m.Anchor = "end"
	}
	return m
}

// line draws how many keys count more than each count.
func (c *curve) line(buckets []bucketRow) string {
	var line strings.Builder
	fmt.Fprintf(&line, "0,%.1f", 1000*c.y(float64(buckets[0].AtMore)))
	for _, b := range buckets {
		fmt.Fprintf(&line, " %.1f,%.1f %.1f,%.1f", 1000*c.x(float64(b.Low)-0.5), 1000*c.y(float64(b.AtMore)), 1000*c.x(float64(b.High)+0.5), 1000*c.y(float64(b.AtMore-b.Keys)))
	}
	return line.String()
}

// bars draws how many keys count about so many, in bars that are wide enough to
// compare.
func (c *curve) bars(buckets []bucketRow, tried uint32) {
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
		c.Bars = append(c.Bars, bar{rect{part(left), part(top), part(max(right-left, 0.003)), part(1 - top)}, low > tried})
	}
}

// ticks marks the axes: every power of ten, and below also 2 and 5 times it where
// there is room.
func (c *curve) ticks() {
	for n := 1.0; math.Log10(n) < c.Top; n *= 10 {
		c.Left = append(c.Left, tick{At: part(c.y(n)), Label: words.Number(int64(n))})
	}
	for n := 1.0; math.Log10(n) < c.Right; n *= 10 {
		for _, m := range []float64{1, 2, 5} {
			if math.Log10(n*m) < c.Right-0.05 {
				c.Below = append(c.Below, tick{part(c.x(n * m)), words.Number(int64(n * m)), m != 1})
			}
		}
	}
}
