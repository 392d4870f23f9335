package logline

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"edgeguard"
	"edgeguard/logline/loglinetest"
	"edgeguard/logline/scan"
)

// TestExamples holds what the line of each example says, that its format supplies the
// fields that it promises, that auto finds it, in an envelope too, and that it costs no
// memory.
func TestExamples(t *testing.T) {
	for _, e := range loglinetest.Examples {
		t.Run(e.Name, func(t *testing.T) {
			l := Parser{parser: parserOf(t, e.Format, "")}
			c := Chunk{Text: []byte(e.Head + e.Line + "\n")}
			l.Parse(&c)
			if len(c.Events) != 1 || c.Skipped > 0 {
				t.Fatalf("%d events, %v", len(c.Events), c.Shown)
			}
			if got := shown(&c.Events[0]); got != e.Want {
				t.Errorf("\n got %s\nwant %s", got, e.Want)
			}
			if f := formatOf(t, e.Format); f.fields != 0 && f.fields != c.Events[0].Known {
				t.Errorf("the table says %v, the example has %v", f.fields, c.Events[0].Known)
			}
			auto := cmp.Or(e.Auto, e.Format)
			if f, err := Detect([]byte(e.Head+strings.Repeat(e.Line+"\n", 3)), nil); err != nil || f.String() != auto {
				t.Errorf("detected as %v, %v; want %s", f, err, auto)
			}
			inside := strings.Split(e.Head+strings.Repeat(e.Line+"\n", 3), "\n")
			log := ""
			for _, line := range inside[:len(inside)-1] {
				log += inDocker(line+"\n", "stdout") + "\n"
			}
			if f, err := Detect([]byte(log), nil); err != nil || f.String() != "docker:"+auto {
				t.Errorf("in docker's envelope detected as %v, %v", f, err)
			}
			line, room := []byte(e.Line), make([]byte, len(e.Line))
			var ev edgeguard.Event
			if n := testing.AllocsPerRun(100, func() {
				copy(room, line)
				if why := l.parser.Parse(room, &ev); why != scan.Read {
					t.Fatal(why)
				}
			}); n > 0 {
				t.Errorf("%v allocations a line", n)
			}
		})
	}
	for _, name := range Names() {
		if !slices.ContainsFunc(loglinetest.Examples, func(e loglinetest.Example) bool { return e.Format == name }) {
			t.Errorf("no example of %s", name)
		}
	}
}
