package scenes

import (
	"os"
	"strings"
	"testing"
)

// TestRecordings checks what recordings promise: a program with its version, and
// requests in the order of their times, without the address of the machine.
func TestRecordings(t *testing.T) {
	files, err := os.ReadDir("recorded")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(file.Name(), ".tsv")
		if program := by(name); !strings.ContainsAny(program, "0123456789") {
			t.Errorf("%s: no version in %q", name, program)
		}
		steps := stepsOf(name)
		if len(steps) < 10 {
			t.Errorf("%s: %d requests", name, len(steps))
		}
		for i, s := range steps {
			if i > 0 && s.second < steps[i-1].second-0.1 {
				t.Errorf("%s: request %d goes back in time", name, i)
			}
			if !strings.HasPrefix(s.target, "/") || strings.Contains(s.target+s.referer, "127.0.0.1") || s.agent == "" {
				t.Errorf("%s: %+v", name, s)
			}
		}
	}
}

// TestHalves checks that each half has enough of each kind to say something.
func TestHalves(t *testing.T) {
	n := make(map[Kind][2]int)
	for _, s := range Scenes() {
		of := n[s.Kind]
		if Reported(s.Name) {
			of[1]++
		} else {
			of[0]++
		}
		n[s.Kind] = of
	}
	for kind, want := range map[Kind]int{Wanted: 15, Outage: 5, Attack: 9} {
		if of := n[kind]; min(of[0], of[1]) < want {
			t.Errorf("%s: %d scenes to tune on and %d that are reported, want %d", kind, of[0], of[1], want)
		}
	}
}
