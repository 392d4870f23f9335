package node

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"edgeguard"
	"edgeguard/admin"
)

// What a source cannot count is in the figures, and is judged by the rules in
// force.
func TestUncounted(t *testing.T) {
	u := newNode(t, shortDir(t), small)
	tell, now := u.uncounted.Uncounter("log a"), u.clock.Now()
	request := edgeguard.Uncounted{Addr: netip.MustParseAddr("203.0.113.9"), Reason: edgeguard.LineTooLong}
	tell(now, slices.Repeat([]edgeguard.Uncounted{request}, 50))
	want := []admin.Uncounted{{Source: "log a", Reason: "line_too_long", Count: 50}}
	if got := u.view().Stats().Uncounted; !slices.Equal(got, want) {
		t.Errorf("figures %v, want %v", got, want)
	}
	u.uncounted.Check(now)
	if got := u.conditions(); !strings.Contains(got, "203.0.113.9 50 in") {
		t.Errorf("conditions: %s", got)
	}
}
