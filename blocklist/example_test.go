package blocklist_test

import (
	"fmt"
	"net/netip"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
)

// A block is merged, found, refused where it must not be, and taken back.
func Example() {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	list := blocklist.New(blocklist.Config{
		Allow:     []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")},
		Protected: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
	})
	list.OnChange(func(b edgeguard.Block) { fmt.Println("changed:", b.Prefix, "lifted:", b.Lifted) })

	attacker := edgeguard.Block{
		Prefix: netip.MustParsePrefix("203.0.113.45/32"), Rule: "login", Reason: "over limit",
		Since: now, Until: now.Add(10 * time.Minute), Version: 1,
	}
	if _, err := list.Merge(attacker, now); err != nil {
		fmt.Println(err)
	}
	find := func(addr string, at time.Time) {
		standing, block := list.Find(at, netip.MustParseAddr(addr))
		rule := ""
		if block != nil {
			rule = block.Rule
		}
		fmt.Printf("%s %s %q\n", addr, standing, rule)
	}
	find("203.0.113.45", now)
	find("203.0.113.45", now.Add(10*time.Minute))
	find("192.0.2.1", now)

	customer := attacker
	customer.Prefix = netip.MustParsePrefix("192.0.2.7/32")
	_, err := list.Merge(customer, now)
	fmt.Println(err)

	list.Lift(attacker.Prefix, now, "a customer after all", "node-1")
	_, err = list.Merge(attacker, now) // late news from another node
	fmt.Println(err)
	find("203.0.113.45", now)

	// Output:
	// changed: 203.0.113.45/32 lifted: false
	// 203.0.113.45 blocked "login"
	// 203.0.113.45 none ""
	// 192.0.2.1 allowed ""
	// 192.0.2.7/32: allowed: remove it from the allowlist first
	// changed: 203.0.113.45/32 lifted: true
	// <nil>
	// 203.0.113.45 none ""
}
