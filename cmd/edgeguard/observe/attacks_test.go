package observe

import (
	"net/netip"
	"testing"

	"edgeguard/admin"
)

// What --members prints is piped into blocks import, which leaves comments out: it blocks nobody who succeeded or
// was served pages before.
func TestMemberLine(t *testing.T) {
	addr := netip.MustParsePrefix("203.0.113.7/32")
	for want, m := range map[string]admin.Comer{
		"203.0.113.7":             {Prefix: addr},
		"2001:db8::/64":           {Prefix: netip.MustParsePrefix("2001:db8::/64"), Waits: true},
		"# 203.0.113.7 succeeded": {Prefix: addr, Succeeded: true},
		"# 203.0.113.7 succeeded, may be a customer":       {Prefix: addr, Succeeded: true, MayBeCustomer: true},
		"# 203.0.113.7 did not succeed, may be a customer": {Prefix: addr, MayBeCustomer: true},
	} {
		if got := memberLine(&m); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
