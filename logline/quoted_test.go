package logline

import (
	"bytes"
	"strings"
	"testing"
)

// TestQuotedFieldOverLines holds that no line inside a quoted field is a row.
func TestQuotedFieldOverLines(t *testing.T) {
	row := "2016-02-20 00:00:45,192.0.2.1,"
	evil := "2016-02-20 00:00:45,9.9.9.9,x"
	for _, test := range []struct {
		name, text      string
		events, skipped int
	}{
		{"closed on the third line", row + "\"a\n" + evil + "\n" + evil + "\"\n" + row + "b\n", 1, 3},
		{"opens another", row + "\"a\n" + evil + "\",\"\n" + evil + "\n\"\n" + row + "b\n", 1, 4},
		{"in a row that failed before", "never,192.0.2.1,\"a\n" + evil + "\n\"\n" + row + "b\n", 1, 3},
		{"never closed", row + "\"a\n" + strings.Repeat(strings.Repeat("x", 1000)+"\n", 70) + row + "b\n", 1, 71},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := Parser{parser: parserOf(t, "csv:time=t,addr=a,path=p", "t,a,p")}
			p := &Chunk{Text: bytes.Clone([]byte(test.text))}
			l.Parse(p)
			for _, ev := range p.Events {
				if ev.Addr.String() != "192.0.2.1" {
					t.Errorf("event of %v", ev.Addr)
				}
			}
			if len(p.Events) != test.events || int(p.Skipped) != test.skipped {
				t.Errorf("%d events, %d skipped (%v); want %d, %d", len(p.Events), p.Skipped, p.Shown, test.events, test.skipped)
			}
		})
	}
}
