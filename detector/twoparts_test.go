package detector

import (
	"testing"

	"edgeguard/internal/words"
)

// TestTwoParts: what a block says of both parts, in what people count, is read back.
func TestTwoParts(t *testing.T) {
	quarters := words.Measure{Each: 4, One: "attempt", Many: "attempts"}
	for here, want := range map[uint32]string{7: "over limit in the fleet: 1.8 here, 20 on other nodes", 5680: "over limit in the fleet: 1,420 here, 20 on other nodes", 0: "over limit in the fleet: 0 here, 20 on other nodes"} {
		reason := count{count: here + 80, rest: 80}.reason(quarters)
		if got, ok := TwoParts(reason, quarters); reason != want || got != here || !ok {
			t.Errorf("%s, want %s: read as %d %v", reason, want, got, ok)
		}
	}
	for _, other := range []string{"over limit", "over limit in the fleet: a 3, b 2", "over limit in the fleet: -1 here, 2 on other nodes", "over limit in the fleet: 1e300 here, 2 on other nodes",
		"over limit in the fleet: NaN here, 2 on other nodes", "over limit in the fleet: 1 here, 2 on other nodes, too"} {
		if _, ok := TwoParts(other, quarters); ok {
			t.Errorf("%s has two parts", other)
		}
	}
}
