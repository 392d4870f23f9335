package tune

import (
	"fmt"
	"math"
	"math/bits"
	"strings"

	"edgeguard/cmd/edgeguard/output"
	"edgeguard/internal/words"
	"edgeguard/rules"
	"edgeguard/tuning"
)

// drawWidth is the length of the longest bar.
const drawWidth = 40

// histogram draws how many keys had their greatest count in each doubling: 1, 2-3, 4-7
// and so on. The bars are logarithmic, because the few high keys are what matters and
// a linear bar would not show them; the last line says so.
func (t Text) histogram(d *tuning.Distribution, m *rules.Meter) {
	var doublings [33]uint64
	for b := range d.Buckets() {
		doublings[bits.Len32((b.High-1)/m.MeasureOf().Each+1)] += b.Count
	}
	first, last, most := 33, 0, uint64(0)
	for i, n := range doublings {
		if n > 0 {
			first, last, most = min(first, i), i, max(most, n)
		}
	}
	fmt.Fprintf(t.Out, "  %15s  %9s\n", m.MeasureOf().Many, "keys")
	for i := first; i <= last; i++ {
		low, high := uint64(1)<<i>>1, uint64(1)<<i-1
		label := words.Number(low)
		if high > low {
			label += "–" + words.Number(high)
		}
		n := doublings[i]
		fmt.Fprintf(t.Out, "  %15s  %9s  %s\n", label, words.Number(n), output.Paint(output.Amber, bar(n, most), t.Colour))
	}
	fmt.Fprintf(t.Out, "  %28s  bars are logarithmic: one cell is 1 key, all %d are %s\n", "", drawWidth, words.Number(max(most, 2)))
}

// bar is a bar for n, where most has the longest: a key is at least one cell.
func bar(n, most uint64) string {
	if n == 0 {
		return ""
	}
	length := 1 + (drawWidth-1)*math.Log(float64(n))/math.Log(max(2, float64(most)))
	return strings.Repeat("█", int(length))
}
