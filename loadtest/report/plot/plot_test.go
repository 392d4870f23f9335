package plot

import (
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files")

var (
	someBars = Bars{Title: "Time to block", Rows: []Bar{
		{Label: "edgeguard", Value: 2, Text: "2 ms", Ours: true}, {Label: "other & <b>", Value: 8, Text: "8 ms"}, {Label: "absent", Text: "not installed", None: true},
	}}
	someLines = Lines{Title: "Error by skew", X: "skew, ms", Y: "requests", Limit: 100, LimitText: "limit", Series: []Series{
		{"guard 1", []Point{{0, 0}, {100, 20}, {5000, 180}}}, {"guard 0.95", []Point{{0, 0}, {5000, 90}}},
	}}
)

// Golden files have each kind of chart; look at one after a change.
func TestFiles(t *testing.T) {
	for name, c := range map[string]Chart{"bars.svg": someBars, "lines.svg": someLines} {
		got, err := File(c)
		if err != nil {
			t.Fatal(err)
		}
		if *update {
			if err := os.WriteFile("testdata/"+name, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile("testdata/" + name); err != nil || string(want) != got {
			t.Errorf("%s is not as the golden file (%v): look at it, and run go test ./loadtest/report/plot -update", name, err)
		}
		wellFormed(t, name, got)
		if !strings.Contains(got, "prefers-color-scheme: dark") || !strings.Contains(got, `role="img" aria-label="`) {
			t.Errorf("%s is not for dark, or has no text alternative", name)
		}
	}
}

func wellFormed(t *testing.T, name, text string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
}

func TestTextsAreEscaped(t *testing.T) {
	evil := `"><script>alert(1)</script>`
	for _, c := range []Chart{
		Bars{Title: evil, Rows: []Bar{{Label: evil, Text: evil, Value: 1}}},
		Lines{Title: evil, X: evil, Y: evil, Limit: 1, LimitText: evil, Series: []Series{{evil, []Point{{1, 1}}}}},
	} {
		for _, draw := range []func(Chart) (string, error){File, func(c Chart) (string, error) { h, err := SVG(c); return string(h), err }} {
			if got, err := draw(c); err != nil || strings.Contains(got, "<script") {
				t.Errorf("%v: %s", err, got)
			}
		}
	}
}

func TestScale(t *testing.T) {
	for _, tt := range []struct {
		name  string
		log   bool
		takes []float64
		want  string
	}{
		{"none", false, nil, "0 2 4 6 8 10"},
		{"one", false, []float64{7}, "6 8"},
		{"from nothing", false, []float64{0, 93}, "0 20 40 60 80 100"},
		{"nothing at all", false, []float64{0}, "0 0.2"},
		{"decades", true, []float64{3, 4000}, "1 10 100 1000 10k"},
		{"no logarithm", true, []float64{0, 5}, "1 10"},
		{"many decades", true, []float64{1, 1e8}, "1 100 10k 1M 100M"},
	} {
		s := scaleOf(tt.log)
		for _, v := range tt.takes {
			s.take(v)
		}
		var got []string
		for _, tick := range s.ticks(true) {
			got = append(got, tick.Label)
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: %v, want %s", tt.name, got, tt.want)
		}
		for _, v := range tt.takes {
			if p := s.part(v); p < 0 || p > 1 {
				t.Errorf("%s: %v is at %v of the axis", tt.name, v, p)
			}
		}
	}
}
