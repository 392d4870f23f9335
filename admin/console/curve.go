package console

import (
	"fmt"
	"math"
	"strings"

	"edgeguard/internal/words"
)

// curve is how many keys count more than so many: both axes are logarithmic. Its
// height at a limit is the number of keys over it, and a level stretch is a gap.
type curve struct {
	Bars    []rect
	Line    string // points of a polyline
	LimitX  string
	Limit   string // its label
	Left    []tick
	Below   []tick
	Label   string
	LabelAt string
}

// newCurve draws a distribution, the lowest counts first, beside a limit.
func newCurve(buckets []bucketRow, limit uint32) curve {
	last := buckets[len(buckets)-1]
	right := math.Log10(float64(max(last.High, limit)) * 1.3)
	top := math.Log10(float64(max(buckets[0].AtMore, 9))) * 1.05
	x := func(v float64) float64 { return plotLeft + math.Log10(max(v, 1))/right*(plotRight-plotLeft) }
	y := func(n float64) float64 {
		return plotBottom - math.Log10(max(n, 0.7)/0.7)/(top-math.Log10(0.7))*(plotBottom-plotTop)
	}
	c := curve{Label: fmt.Sprintf("%s by how many each counts; the limit is %s", words.Plural(buckets[0].AtMore, "key", "keys"), words.Number(limit))}
	var line strings.Builder
	for _, b := range buckets {
		from, to := x(float64(b.Low)), x(float64(b.High)+1)
		c.Bars = append(c.Bars, newRect(from, y(float64(b.Keys)), max(to-from-0.5, 1), plotBottom-y(float64(b.Keys))))
		fmt.Fprintf(&line, "%.1f,%.1f %.1f,%.1f %.1f,%.1f ", from, y(float64(b.AtMore)), to, y(float64(b.AtMore)), to, y(float64(b.AtMore-b.Keys)))
	}
	c.Line = line.String()
	c.LimitX, c.Limit = px(x(float64(limit))), "limit "+words.Number(limit)
	c.LabelAt = px(min(x(float64(limit))+4, plotRight-80))
	for n := 1.0; math.Log10(n) <= top; n *= 10 {
		c.Left = append(c.Left, tick{px(y(n)), words.Number(int64(n))})
	}
	for v := 1.0; math.Log10(v) <= right; v *= 10 {
		c.Below = append(c.Below, tick{px(x(v)), words.Number(int64(v))})
	}
	return c
}
