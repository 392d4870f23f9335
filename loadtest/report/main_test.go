package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestGoalsArePrintedAndWrittenWithoutMeasuring(t *testing.T) {
	page := filepath.Join(t.TempDir(), "benchmarks.md")
	text, err := os.ReadFile("../../docs/benchmarks.md")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(page, text, 0o644); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-goals", "-write", page}, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	written, _ := os.ReadFile(page)
	for _, g := range groups() {
		if !strings.Contains(out.String(), plain.Replace(g.title)) {
			t.Errorf("the report does not print %q", g.title)
		}
		for _, f := range g.lines {
			if !strings.Contains(string(written), "| "+f.what+" | "+f.goal.String()+" | not measured yet |") {
				t.Errorf("the page does not state the goal of %q", f.what)
			}
		}
	}
}

func TestWrongArguments(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"-only song", `no group "song", there are add, decide`},
		{"-only add,log,x", `no group "x"`},
		{"-rounds 0", "at least one round"},
		{"-round 1", "not defined: -round"},
		{"all", "no argument besides flags"},
	} {
		err := run(t.Context(), strings.Fields(tt.args), io.Discard, io.Discard)
		if !errors.Is(err, errUsage) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want one about usage with %q", tt.args, err, tt.want)
		}
	}
}

func TestWhatCannotBeMeasuredIsSaidAndTheRestGoesOn(t *testing.T) {
	g := group{lines: []figure{
		metric("missing", atMost(1, "ns"), benchRun{dir: "no/such/folder", pattern: "X"}, "X", "ns/op"),
		{"there", atLeast(2, "×"), "true", func(*runner) (reading, error) { return reading{3, "6 ns against 2 ns"}, nil }},
	}}
	rows := newRunner(t).measure(g)
	if rows[0].measured != "not measured: there is no folder no/such/folder" || rows[0].verdict != "" {
		t.Errorf("%+v", rows[0])
	}
	if rows[1].measured != "3× (6 ns against 2 ns)" || rows[1].verdict != "ok" {
		t.Errorf("%+v", rows[1])
	}
}

func TestReplaceRegion(t *testing.T) {
	const page = "# Page\n<!-- figures: a -->\nold\n<!-- end: a -->\nbetween\n<!-- figures: b -->\n<!-- end: b -->\nlast\n"
	got, err := replaceRegion([]byte(page), "a", "new\n")
	want := "# Page\n<!-- figures: a -->\n\nnew\n\n<!-- end: a -->\nbetween\n<!-- figures: b -->\n<!-- end: b -->\nlast\n"
	if err != nil || string(got) != want {
		t.Errorf("%q, %v", got, err)
	}
	if again, err := replaceRegion(got, "a", "new\n"); err != nil || !bytes.Equal(again, got) {
		t.Errorf("writing the same twice changes the page: %q, %v", again, err)
	}
	for _, broken := range []string{"", "<!-- figures: a -->\n", "<!-- end: a -->", "<!-- end: a -->\n<!-- figures: a -->\n"} {
		if _, err := replaceRegion([]byte(broken), "a", "new\n"); err == nil {
			t.Errorf("%q: no error", broken)
		}
	}
}

func TestMarkdownSaysASharedCommandOnce(t *testing.T) {
	rows := []row{{"a", "≥ 4×", "5×", "ok", "go test -bench 'X|Y'"}, {"b", "stated", "2×", "", "go test -bench 'X|Y'"}}
	want := "Note.\n\n| what | goal | measured |  |\n|---|---|---|---|\n| a | ≥ 4× | 5× | ok |\n| b | stated | 2× |  |\n" +
		"\nCommand: `go test -bench 'X|Y'`\n\nMeasured.\n"
	if got := markdown(group{note: "Note."}, rows, "Measured."); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	rows[1].command = "other"
	if got := markdown(group{}, rows, ""); !strings.Contains(got, "| a | ≥ 4× | 5× | ok | `go test -bench 'X\\|Y'` |\n") {
		t.Errorf("%s\nwant the command in its row, with its bar escaped", got)
	}
}
