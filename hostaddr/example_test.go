package hostaddr_test

import (
	"fmt"
	"net/netip"

	"edgeguard/hostaddr"
)

func ExampleDiscover() {
	set, err := hostaddr.Discover(hostaddr.Config{
		Extra: func() ([]hostaddr.Protected, error) {
			return []hostaddr.Protected{{Prefix: netip.MustParsePrefix("198.51.100.7/32"), Reason: "redis"}}, nil
		},
	})
	if err != nil {
		fmt.Println(err) // and go on with what was found
	}
	for _, asked := range []string{"127.8.8.8/32", "198.51.100.7/32", "203.0.113.9/32"} {
		if p, ok := set.Why(netip.MustParsePrefix(asked)); ok {
			fmt.Printf("%s is protected: %s\n", asked, p.Reason)
		} else {
			fmt.Printf("%s may be blocked\n", asked)
		}
	}
	// Output:
	// 127.8.8.8/32 is protected: loopback
	// 198.51.100.7/32 is protected: redis
	// 203.0.113.9/32 may be blocked
}
