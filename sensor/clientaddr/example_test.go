package clientaddr_test

import (
	"fmt"
	"net/netip"

	"edgeguard/sensor/clientaddr"
)

func Example() {
	trust, err := clientaddr.NewTrust([]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, false)
	if err != nil {
		panic(err)
	}
	finder, err := clientaddr.NewFinder(trust, clientaddr.XForwardedFor)
	if err != nil {
		panic(err)
	}
	// The client wrote "127.0.0.1"; the content network's 10.9.9.9 added what it
	// saw, and so did the proxy at 10.0.0.1, which asks.
	lines := []string{"127.0.0.1, 203.0.113.9, 10.9.9.9"}
	fmt.Println(finder.Find(netip.MustParseAddr("10.0.0.1"), lines).Addr)
	fmt.Println(finder.Find(netip.MustParseAddr("192.0.2.66"), lines).Addr)
	// Output:
	// 203.0.113.9
	// 192.0.2.66
}
