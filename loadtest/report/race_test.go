package report

import (
	"errors"
	"io"
	"strings"
	"testing"
)

func newRunner(t *testing.T) *runner {
	return &runner{ctx: t.Context(), root: "../..", dir: t.TempDir(), rounds: 3, benchtime: "1x", notes: io.Discard}
}

func shell(script string) contender { return contender{args: []string{"sh", "-c", script}, units: 10} }

func TestRaceTakesTurnsInBothOrders(t *testing.T) {
	r := newRunner(t)
	trace := r.dir + "/trace"
	outcome, err := r.race("test", shell("echo a >> "+trace), shell("echo b >> "+trace))
	if err != nil {
		t.Fatal(err)
	}
	ran, err := r.lapOutput("cat", trace)
	if err != nil || strings.Join(strings.Fields(ran), "") != "abbaab" {
		t.Errorf("ran in the order %q (%v), want a b b a a b", ran, err)
	}
	for who := range 2 {
		if len(outcome.perUnit[who]) != 3 || outcome.perUnit[who][0] <= 0 {
			t.Errorf("contender %d has laps of %v ns", who, outcome.perUnit[who])
		}
	}
	if again, _ := r.race("test", shell("exit 1"), shell("exit 1")); again.err != nil {
		t.Error("a race that was run is run again")
	}
}

// lapOutput runs a program through lap and gives what it printed.
func (r *runner) lapOutput(args ...string) (string, error) {
	var text string
	_, err := r.lap(contender{args: args, units: 1, check: func(output []byte) error {
		text = string(output)
		return nil
	}})
	return text, err
}

func TestRaceReportsWhoFails(t *testing.T) {
	wrong := errors.New("saw nothing")
	for _, tt := range []struct {
		name         string
		ours, theirs contender
		want         string
	}{
		{"ours exits", shell("echo no such file >&2; exit 3"), shell("true"), "exit status 3: no such file"},
		{"theirs exits", shell("true"), shell("exit 4"), "exit status 4"},
		{"not there", contender{args: []string{"no-such-program"}}, shell("true"), "no-such-program"},
		{"wrong answer", contender{args: []string{"true"}, check: func([]byte) error { return wrong }}, shell("true"), "saw nothing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := newRunner(t).race("test", tt.ours, tt.theirs); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

func TestSpeedIsTheRatioOfTheirsToOurs(t *testing.T) {
	outcome := raced{
		perUnit:    [2][]float64{{100, 200, 100}, {400, 800, 500}},
		cpuPerUnit: [2][]float64{{200, 200, 200}, {400, 400, 400}},
	}
	got := outcome.speed("lines")
	if want := "10 M lines/s against 2 M lines/s; 2× by processor time; 4–5×"; got.value != 4 || got.detail != want {
		t.Errorf("%v (%s), want 4 (%s)", got.value, got.detail, want)
	}
}

func TestInstalledNamesTheMend(t *testing.T) {
	if err := installed("sh"); err != nil {
		t.Error(err)
	}
	want := "no-such-peer is not installed (apt-get install no-such-peer)"
	if got := errorText(installed("no-such-peer")); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestSawAll(t *testing.T) {
	const block = `{"type":"block","key":"203.0.113.45"}` + "\n"
	for _, tt := range []struct {
		name, output, want string
	}{
		{"all", block + `{"type":"summary","events":5,"skipped":0}` + "\n", ""},
		{"too few", `{"type":"summary","events":4,"skipped":0}`, "saw 4 events"},
		{"some skipped", `{"type":"summary","events":5,"skipped":1}`, "skipped 1"},
		{"no summary", block, "printed no summary"},
		{"a table for people", "ADDRESS  COUNT\n", "printed no summary"},
		{"nothing", "", "printed no summary"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := errorText(sawAll(5)([]byte(tt.output))); (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
				t.Errorf("error %q, want one with %q", got, tt.want)
			}
		})
	}
}
