// Package plot draws the pictures of README.md as SVG: bars, one under the other, and
// lines over an axis. It is pure; colours are classes, for light and dark.
package plot

import (
	"bytes"
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"

	_ "embed" // of the templates and the style
)

//go:embed plot.html
var templates string

//go:embed plot.css
var style string

var all = template.Must(template.New("").Funcs(template.FuncMap{
	"add":   func(a, b int) int { return a + b },
	"place": func(i int) int { return 20 + 230*i }, // of a name in the legend
}).Parse(templates))

// execute draws a chart as a file with its title, its legend, its ground and its style.
// Label says in a sentence what it shows.
func execute(name, label string, chart any) []byte {
	var b bytes.Buffer
	err := all.ExecuteTemplate(&b, name, struct {
		Style template.CSS
		Label string
		Chart any
	}{template.CSS(style), label, chart})
	if err != nil {
		panic(err) // of the template: nothing else can fail
	}
	return b.Bytes()
}

// Bars is one value of each of several things. Lengths are by logarithm.
type Bars struct {
	Title string
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

// DrawBars returns the file of a chart.
func DrawBars(b Bars) []byte {
	rows, least, most := make([]row, 0, len(b.Rows)), math.Inf(1), 0.0
	texts := make([]string, 0, len(b.Rows))
	for _, r := range b.Rows {
		if most = max(most, r.Value); !r.None && r.Value > 0 {
			least = min(least, r.Value)
		}
		texts = append(texts, r.Label+": "+r.Text)
	}
	begin := math.Log10(least) - 0.5
	for i, r := range b.Rows {
		part := 0.0
		if !r.None && r.Value > 0 {
			part = (math.Log10(r.Value) - begin) / (math.Log10(most) - begin)
		}
		rows = append(rows, row{r, rowHeight*i + 15, rowHeight*i + 22, percent(part)})
	}
	return execute("bars-file", b.Title+". "+strings.Join(texts, "; ")+".", struct {
		Bars
		Rows   []row
		Height int
	}{b, rows, rowHeight * len(rows)})
}

// Lines is how one figure, from 0 on, depends on another.
type Lines struct {
	Title  string
	X, Y   string // what the axes are, with their units
	Series []Series
	// Limit is a level to compare with, drawn across.
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

type line struct{ Class, Name, Points string }

type tick struct{ At, Label string }

// DrawLines returns the file of a chart.
func DrawLines(l Lines) []byte {
	xs, ys := axis{l.Series[0].Points[0].X, l.Series[0].Points[0].X}, axis{0, l.Limit}
	texts := make([]string, 0, len(l.Series))
	for _, s := range l.Series {
		for _, p := range s.Points {
			xs, ys = xs.with(p.X), ys.with(p.Y)
		}
		first, last := s.Points[0], s.Points[len(s.Points)-1]
		texts = append(texts, fmt.Sprintf("%s: from %s at %s to %s at %s", s.Name, short(first.Y), short(first.X), short(last.Y), short(last.X)))
	}
	ys.most = math.Ceil(ys.most/ys.step()) * ys.step()
	var lines []line
	for i, s := range l.Series {
		var points strings.Builder
		for _, p := range s.Points {
			fmt.Fprintf(&points, "%.1f,%.1f ", 1000*xs.part(p.X), 1000*(1-ys.part(p.Y)))
		}
		lines = append(lines, line{"s" + strconv.Itoa(i%6), s.Name, strings.TrimSpace(points.String())})
	}
	return execute("lines-file", fmt.Sprintf("%s. %s by %s. %s.", l.Title, l.Y, l.X, strings.Join(texts, "; ")), struct {
		Lines
		Drawn       []line
		Left, Below []tick
		LimitAt     string
	}{l, lines, ys.ticks(true), xs.ticks(false), percent(1 - ys.part(l.Limit))})
}

func percent(part float64) string { return strconv.FormatFloat(100*part, 'f', 2, 64) + "%" }

// short writes a number of an axis.
func short(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }

// axis is from its least value to the greatest.
type axis struct{ least, most float64 }

func (a axis) with(v float64) axis { return axis{min(a.least, v), max(a.most, v)} }

// part is where on the axis a value is, from 0 to 1.
func (a axis) part(v float64) float64 { return (v - a.least) / (a.most - a.least) }

// step is a round number of which some five are on the axis.
func (a axis) step() float64 {
	span := a.most - a.least
	step := math.Pow(10, math.Floor(math.Log10(span/4)))
	for _, times := range []float64{5, 2} {
		if span/(step*times) >= 3 {
			return step * times
		}
	}
	return step
}

// ticks are the steps on the axis. From top to bottom the first is at the bottom.
func (a axis) ticks(vertical bool) (all []tick) {
	step := a.step()
	for k := math.Ceil(a.least / step); k*step <= a.most; k++ {
		at := a.part(k * step)
		if vertical {
			at = 1 - at
		}
		all = append(all, tick{percent(at), short(k * step)})
	}
	return all
}
