package shard_test

import (
	"fmt"
	"net/netip"

	"edgeguard/shard"
)

// One meter counts IPv4 by the address and IPv6 by the /64.
func Example() {
	memory := shard.NewMemory(16 << 20)
	table := shard.New(memory, shard.Config{Seed: 1})

	const now = 1000 // the slot of the clock: unix seconds / 5
	events := []string{"192.0.2.1", "192.0.2.1", "2001:db8::1", "2001:db8::2", "192.0.2.1"}
	for _, text := range events {
		op := shard.Op{Addr: netip.MustParseAddr(text), Now: now, Slot: now, Cost: 1}
		fmt.Println(text, table.Add(&op).Count)
	}

	addr := netip.MustParseAddr("192.0.2.1")
	fmt.Println("at most 2 after:", table.Until(addr, "", now, 2), "slots")
	fmt.Println("an hour later:", table.Count(addr, "", now+720))
	fmt.Println("forgotten:", table.Sweep(now+720, 100))
	// Output:
	// 192.0.2.1 1
	// 192.0.2.1 2
	// 2001:db8::1 1
	// 2001:db8::2 2
	// 192.0.2.1 3
	// at most 2 after: 60 slots
	// an hour later: 0
	// forgotten: 2
}
