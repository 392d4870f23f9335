package admin

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard"
)

// What is said of one block, of some, and of as many as are named; in mode monitor nothing is blocked.
func TestNewCustomers(t *testing.T) {
	since := time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)
	one := edgeguard.Evidence{Prefix: netip.MustParsePrefix("203.0.113.7/32"), Rule: "wordpress/login", Since: since}
	home := edgeguard.Evidence{Prefix: netip.MustParsePrefix("2001:db8:1:2::/64"), Rule: "login/failed", Since: since.Add(-time.Hour)}
	for _, test := range []struct {
		blocks  []edgeguard.Evidence
		monitor bool
		want    string
	}{
		{[]edgeguard.Evidence{one}, false, "203.0.113.7 is blocked and may be a customer: it was served three or more different pages of this site before it went over wordpress/login."},
		{[]edgeguard.Evidence{home}, true, "2001:db8:1:2::/64 would be blocked and may be a customer: it was served three or more different pages of this site before it went over login/failed."},
		{[]edgeguard.Evidence{one, home}, false, "2 addresses are blocked and may be customers: each was served three or more different pages of this site before it went over a rule of logins."},
		{slices.Repeat([]edgeguard.Evidence{one}, MostCustomers), true, "20 addresses or more would be blocked and may be customers"},
	} {
		n, ok := NewCustomers(test.blocks, test.monitor)
		if !ok || !strings.HasPrefix(n.Text, test.want) || len(n.Prefixes) != len(test.blocks) || !n.Since.Equal(test.blocks[len(test.blocks)-1].Since) {
			t.Errorf("%+v, want %q", n, test.want)
		}
	}
	if _, ok := NewCustomers(nil, false); ok {
		t.Error("of no block something is said")
	}
}
