package logline

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/logline/scan"
)

// TestDocs reads the lines of docs/formats.md by the format above them. A line
// marked "+ ADDRESS" is counted for it, and one marked "-" is passed over.
func TestDocs(t *testing.T) {
	page, err := os.ReadFile("../docs/formats.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)\n```\n(regex.*?)\n```").FindAllStringSubmatch(string(page), -1)
	if len(blocks) < 5 {
		t.Fatalf("only %d examples found", len(blocks))
	}
	for _, block := range blocks {
		format, lines, _ := strings.Cut(block[1], "\n")
		p := parserOf(t, format, "")
		if d, ok := p.(scan.Dated); ok {
			d.SetLatest(time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC))
		}
		for line := range strings.SplitSeq(lines, "\n") {
			mark, text, _ := strings.Cut(line, " ")
			want := ""
			if mark == "+" {
				want, text, _ = strings.Cut(text, "  ")
			}
			var ev edgeguard.Event
			got, why := "", p.Parse([]byte(text), &ev)
			if why == scan.Read {
				if got = ev.Addr.String(); ev.Verified == 0 {
					got += " forgeable"
				}
			}
			if got != want || why != scan.Read && why != scan.Aside || ev.Time.Unix()%86400 != 10*60*60 && want != "" {
				t.Errorf("%s\n%s\nis of %q at %v (%s), want %q", format, text, got, ev.Time, why, want)
			}
		}
	}
}

// TestDocsNameFormats holds that docs/formats.md names every format, and says whose logs
// it reads.
func TestDocsNameFormats(t *testing.T) {
	page, err := os.ReadFile("../docs/formats.md")
	if err != nil {
		t.Fatal(err)
	}
	want := "\n| format | logs of |\n|---|---|\n"
	for _, f := range knownFormats {
		want += "| `" + f.name + "` | " + f.reads + " |\n"
	}
	if !strings.Contains(string(page), want+"\n") {
		t.Errorf("docs/formats.md does not have the formats as the table in known.go does:\n%s", want)
	}
}
