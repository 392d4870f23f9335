package status

import (
	"net/netip"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/blocklist"
	"edgeguard/node/evidence"
)

// still is a clock.
type still struct{ Clock }

func (still) Now() time.Time { return time.Unix(1<<30, 0) }

// Who was let in is none of those that may be customers, in whatever way, and hides none of the others.
func TestCustomersAreThoseInForce(t *testing.T) {
	now := still{}.Now()
	list, kept := blocklist.New(blocklist.Config{}), evidence.NewKept()
	s := New(Sources{Clock: still{}, List: list, Customers: kept.Customers})
	prefix := func(third, last int) netip.Prefix {
		return netip.PrefixFrom(netip.AddrFrom4([4]byte{203, 0, byte(third), byte(last)}), 32)
	}
	put := func(b edgeguard.Block) {
		b.Since, b.Until = now, now.Add(time.Hour)
		if _, _, err := list.Add(b, false, now); err != nil {
			t.Fatal(err)
		}
	}
	for third := range 4 { // the oldest first
		for last := range 2 * admin.MostCustomers {
			put(edgeguard.Block{Prefix: prefix(third, last), Rule: "login", Count: 6, Limit: 5})
			kept.Add(edgeguard.Evidence{Prefix: prefix(third, last), Rule: "login", Since: now, Until: now.Add(time.Hour), MayBeCustomer: true})
		}
	}
	newest := func() netip.Prefix {
		all := s.customers()
		if len(all) != admin.MostCustomers {
			t.Fatalf("%d of %d are named", len(all), admin.MostCustomers)
		}
		return all[0].Prefix
	}
	if got := newest(); got != prefix(3, 39) {
		t.Errorf("%s is the newest", got)
	}
	for last := range 2 * admin.MostCustomers {
		put(edgeguard.Block{Prefix: prefix(3, last), Rule: edgeguard.ManualRule, Allow: true})
	}
	if got := newest(); got != prefix(2, 39) {
		t.Errorf("%s is the newest after the first were allowed", got)
	}
	put(edgeguard.Block{Prefix: netip.MustParsePrefix("203.0.2.0/24"), Rule: edgeguard.ManualRule, Allow: true})
	if got := newest(); got != prefix(1, 39) {
		t.Errorf("%s is the newest after their network was allowed", got)
	}
}
