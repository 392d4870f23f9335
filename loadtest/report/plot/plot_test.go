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

const evil = `"><script>alert(1)</script>`

// Golden files have each kind of chart, with hostile texts; look at one after a change.
func TestFiles(t *testing.T) {
	for name, got := range map[string][]byte{
		"bars.svg": DrawBars(Bars{Title: "Time to block", Rows: []Bar{
			{Label: "edgeguard", Value: 2, Text: "2 ms", Ours: true}, {Label: "other & <b>" + evil, Value: 8, Text: "8 ms"}, {Label: "absent", Text: "not installed" + evil, None: true},
		}}),
		"lines.svg": DrawLines(Lines{Title: "Error by skew" + evil, X: "skew, ms", Y: "requests" + evil, Limit: 100, LimitText: "limit" + evil, Series: []Series{
			{"guard 1" + evil, []Point{{0, 0}, {100, 20}, {5000, 180}}}, {"guard 0.95", []Point{{0, 0}, {5000, 90}}},
		}}),
	} {
		if *update {
			if err := os.WriteFile("testdata/"+name, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile("testdata/" + name); err != nil || string(want) != string(got) {
			t.Errorf("%s is not as the golden file (%v): look at it, and run go test ./loadtest/report/plot -update", name, err)
		}
		for d := xml.NewDecoder(strings.NewReader(string(got))); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if text := string(got); strings.Contains(text, "<script") || !strings.Contains(text, "prefers-color-scheme: dark") || !strings.Contains(text, `role="img" aria-label="`) {
			t.Errorf("%s has a text as an element, is not for dark, or has no text alternative", name)
		}
	}
}

func TestTicks(t *testing.T) {
	for _, tt := range []struct {
		axis axis
		want string
	}{{axis{0, 10}, "0 2 4 6 8 10"}, {axis{0, 93}, "0 20 40 60 80"}, {axis{50, 185}, "60 80 100 120 140 160 180"}} {
		var got []string
		for _, tick := range tt.axis.ticks(true) {
			got = append(got, tick.Label)
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%v: %v, want %s", tt.axis, got, tt.want)
		}
	}
}
