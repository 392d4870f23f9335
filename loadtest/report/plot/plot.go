// Package plot draws charts as SVG: bars, one under the other, and lines over an axis.
// Places are in parts of the drawing, so that it has any width and its texts keep their
// size. It is pure; colours are classes, which [Style] explains.
package plot

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"

	_ "embed" // of the templates and the style
)

//go:embed plot.html
var templates string

//go:embed plot.css
var style string

// Style is the style sheet of all charts, for light and dark.
func Style() template.CSS { return template.CSS(style) }

var all = template.Must(template.New("").Funcs(template.FuncMap{
	"add":   func(a, b int) int { return a + b },
	"place": func(i int) int { return 20 + 230*i }, // of a name in the legend of a file
}).Parse(templates))

// Chart is one that can be drawn.
type Chart interface {
	draw() any
	kind() string
	// Name is the title.
	Name() string
	// Alternative says in a sentence what the chart shows.
	Alternative() string
}

// SVG draws a chart into a page that has [Style].
func SVG(c Chart) (template.HTML, error) { return execute(c.kind(), c.draw()) }

// File draws a chart as a file of its own, with its title, its legend, its ground and
// its style.
func File(c Chart) (string, error) {
	text, err := execute(c.kind()+"-file", struct {
		Style template.CSS
		Label string
		Chart any
	}{Style(), c.Alternative(), c.draw()})
	return string(text), err
}

func execute(name string, data any) (template.HTML, error) {
	var b strings.Builder
	err := all.ExecuteTemplate(&b, name, data)
	return template.HTML(b.String()), err
}

// Bars is one value of each of several things.
type Bars struct {
	Title string
	Log   bool // lengths are by logarithm, from a hundredth of the longest's decade on
	Rows  []Bar
}

// Bar is one of them.
type Bar struct {
	Label string
	Value float64
	Text  string // the value with its unit, or why there is none
	Ours  bool
	None  bool // there is no value
}

// row is a bar as it is drawn.
type row struct {
	Bar
	Y, BarY int
	Width   string
}

const rowHeight = 38

func (b Bars) kind() string { return "bars" }

// Name is the title.
func (b Bars) Name() string { return b.Title }

// Alternative is the title and each value.
func (b Bars) Alternative() string {
	texts := make([]string, 0, len(b.Rows))
	for _, r := range b.Rows {
		texts = append(texts, r.Label+": "+r.Text)
	}
	return b.Title + ". " + strings.Join(texts, "; ") + "."
}

func (b Bars) draw() any {
	rows, least, most := make([]row, 0, len(b.Rows)), math.Inf(1), 0.0
	for _, r := range b.Rows {
		if most = max(most, r.Value); !r.None && r.Value > 0 {
			least = min(least, r.Value)
		}
	}
	for i, r := range b.Rows {
		part := 0.0
		switch {
		case r.None || most <= 0 || r.Value <= 0:
		case b.Log:
			begin := math.Log10(least) - 0.5
			part = (math.Log10(r.Value) - begin) / (math.Log10(most) - begin)
		default:
			part = r.Value / most
		}
		rows = append(rows, row{r, rowHeight*i + 15, rowHeight*i + 22, percent(part)})
	}
	return struct {
		Bars
		Rows   []row
		Height int
		Label  string
	}{b, rows, rowHeight * len(rows), b.Alternative()}
}

// Lines is how one figure depends on another.
type Lines struct {
	Title      string
	X, Y       string // what the axes are, with their units
	LogX, LogY bool
	Series     []Series
	// Limit is a level to compare with, drawn across; 0 for none.
	Limit     float64
	LimitText string
}

// Series is one line. Points are from left to right.
type Series struct {
	Name   string
	Points []Point
}

// Point is a place in the figures' own units.
type Point struct{ X, Y float64 }

type line struct {
	Class, Name, Points string
	Dots                []dot
}

type dot struct{ X, Y string }

type tick struct{ At, Label string }

func (l Lines) kind() string { return "lines" }

// Name is the title.
func (l Lines) Name() string { return l.Title }

// Alternative is the title, the axes, and where each line begins and ends.
func (l Lines) Alternative() string {
	texts := make([]string, 0, len(l.Series))
	for _, s := range l.Series {
		if n := len(s.Points); n > 0 {
			texts = append(texts, fmt.Sprintf("%s: from %s at %s to %s at %s", s.Name, short(s.Points[0].Y), short(s.Points[0].X), short(s.Points[n-1].Y), short(s.Points[n-1].X)))
		}
	}
	return fmt.Sprintf("%s. %s by %s. %s.", l.Title, l.Y, l.X, strings.Join(texts, "; "))
}

func (l Lines) draw() any {
	xs, ys := scaleOf(l.LogX), scaleOf(l.LogY)
	for _, s := range l.Series {
		for _, p := range s.Points {
			xs.take(p.X)
			ys.take(p.Y)
		}
	}
	if l.Limit != 0 {
		ys.take(l.Limit)
	}
	ys.take(0)
	left, below := ys.ticks(true), xs.ticks(false)
	var lines []line
	for i, s := range l.Series {
		one := line{Class: "s" + strconv.Itoa(i%6), Name: s.Name}
		var points strings.Builder
		for _, p := range s.Points {
			x, y := xs.part(p.X), 1-ys.part(p.Y)
			fmt.Fprintf(&points, "%.1f,%.1f ", 1000*x, 1000*y)
			if len(s.Points) <= 12 {
				one.Dots = append(one.Dots, dot{percent(x), percent(y)})
			}
		}
		one.Points = strings.TrimSpace(points.String())
		lines = append(lines, one)
	}
	limit := ""
	if l.Limit != 0 {
		limit = percent(1 - ys.part(l.Limit))
	}
	return struct {
		Lines
		Drawn       []line
		Left, Below []tick
		LimitAt     string
		Label       string
	}{l, lines, left, below, limit, l.Alternative()}
}

func percent(part float64) string { return strconv.FormatFloat(100*part, 'f', 2, 64) + "%" }

// short writes a number of an axis.
func short(v float64) string {
	switch {
	case v == 0:
		return "0"
	case math.Abs(v) >= 1e6:
		return strconv.FormatFloat(v/1e6, 'g', 3, 64) + "M"
	case math.Abs(v) >= 1e4:
		return strconv.FormatFloat(v/1e3, 'g', 3, 64) + "k"
	default:
		return strconv.FormatFloat(v, 'g', 4, 64)
	}
}

// scale is an axis.
type scale struct {
	log         bool
	least, most float64
	empty       bool
}

func scaleOf(log bool) *scale { return &scale{log: log, empty: true} }

// take widens the axis so that it has a value; a logarithm has none of 0.
func (s *scale) take(v float64) {
	if s.log && v <= 0 {
		return
	}
	if s.empty {
		s.least, s.most, s.empty = v, v, false
	}
	s.least, s.most = min(s.least, v), max(s.most, v)
}

// part is where on the axis a value is, from 0 to 1. What a logarithm does not have is
// at its beginning.
func (s *scale) part(v float64) float64 {
	least, most := s.least, s.most
	if s.log {
		least, most, v = math.Log10(least), math.Log10(most), math.Log10(max(v, s.least))
	}
	if least == most {
		return 0.5
	}
	return (v - least) / (most - least)
}

// ticks rounds the axis to whole steps and returns them. From top to bottom the first is
// at the bottom.
func (s *scale) ticks(vertical bool) (all []tick) {
	if s.empty {
		s.least, s.most = 1, 10
	}
	var values []float64
	if s.log {
		low, high := math.Floor(math.Log10(s.least)), math.Ceil(math.Log10(s.most))
		if low == high {
			high++
		}
		if vertical {
			s.least, s.most = math.Pow(10, low), math.Pow(10, high)
		}
		for e := low; e <= high; e += math.Max(1, math.Ceil((high-low)/6)) {
			values = append(values, math.Pow(10, e))
		}
	} else {
		values = s.steps(vertical)
	}
	values = slices.DeleteFunc(values, func(v float64) bool { return v < s.least*(1-1e-9) || v > s.most*(1+1e-9) })
	for _, v := range values {
		at := s.part(v)
		if vertical {
			at = 1 - at
		}
		all = append(all, tick{percent(at), short(v)})
	}
	return all
}

// steps are about five round values of an axis, and widen it to them where it is vertical.
func (s *scale) steps(widen bool) (values []float64) {
	span := s.most - s.least
	if span == 0 {
		span = math.Max(1, math.Abs(s.most))
	}
	step := math.Pow(10, math.Floor(math.Log10(span/4)))
	for _, times := range []float64{5, 2} {
		if span/(step*times) >= 3 {
			step *= times
			break
		}
	}
	low, high := math.Floor(s.least/step), math.Ceil(s.most/step)
	if widen {
		s.least, s.most = low*step, high*step
		if s.least == s.most {
			high++
			s.most += step
		}
	}
	for k := low; k <= high; k++ {
		values = append(values, k*step)
	}
	return values
}
