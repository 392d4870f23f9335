package pattern

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"edgeguard"
)

// TestQuick reads lines with quickHead and quickTail and step by step.
func TestQuick(t *testing.T) {
	pieces := []string{"192.0.2.1", " ", " - ", "-", " [", "03/Feb/2026:04:05:06 +0000", `] "`, "GET /a HTTP/1.1", `" `, "200", " 17", ` "`, "https://a/", `" "`, "Mozilla (b)", `"`, `\"`, `\\`, `""`, strings.Repeat("9", maxToken)}
	whole := []int{0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
	quick, steps := Combined(), Combined()
	if !quick.tail.tail || quick.head.quick == 0 {
		t.Fatal("nothing is quick")
	}
	steps.head.quick, steps.tail.tail = 0, false
	a, b := quick.Parser(time.UTC), steps.Parser(time.UTC)
	random, read := rand.New(rand.NewPCG(1, 1)), 0
	for range 200_000 {
		var line []byte
		for _, piece := range whole {
			switch random.IntN(40) {
			case 0:
				continue
			case 1:
				piece = random.IntN(len(pieces))
			case 2:
				line = append(line, pieces[random.IntN(len(pieces))]...)
			}
			line = append(line, pieces[piece]...)
		}
		var x, y edgeguard.Event
		why, want := a.Parse([]byte(string(line)), &x), b.Parse([]byte(string(line)), &y)
		if why != want || !reflect.DeepEqual(x, y) {
			t.Fatalf("%q: %s %+v, want %s %+v", line, why, x, want, y)
		}
		if x.Known&edgeguard.FieldAgent != 0 {
			read++
		}
	}
	if read < 50_000 {
		t.Errorf("only %d lines with an agent: the test shows little", read)
	}
}
