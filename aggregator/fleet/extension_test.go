package fleet

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"edgeguard"
)

// The node that made a block publishes its extensions first; the others are spread over a
// quarter of the window, each at its own point for each block.
func TestExtensionSlack(t *testing.T) {
	const window = 5 * time.Minute
	b := edgeguard.Block{Prefix: netip.MustParsePrefix("192.0.2.1/32"), Origin: "edge-0"}
	if got := ExtensionSlack(&b, "edge-0", window); got != window/4 {
		t.Errorf("its own: %v", got)
	}
	parts, moved := map[int]int{}, 0
	other := edgeguard.Block{Prefix: netip.MustParsePrefix("192.0.2.2/32"), Origin: "edge-0"}
	for i := range 400 {
		name := fmt.Sprint("edge-", i+1)
		got := ExtensionSlack(&b, name, window)
		if got < window/2 || got >= window*3/4 {
			t.Fatalf("%s: %v", name, got)
		}
		parts[int((got-window/2)*8/(window/4))]++
		if ExtensionSlack(&other, name, window) != got {
			moved++
		}
	}
	for part, n := range parts {
		if len(parts) != 8 || n < 20 {
			t.Errorf("eighth %d has %d of 400 nodes", part, n)
		}
	}
	if moved < 390 {
		t.Errorf("another block has another order on %d of 400 nodes", moved)
	}
	if ExtensionSlack(&b, "edge-1", 366*24*time.Hour) < 0 {
		t.Error("a window of a year is too long")
	}
}
