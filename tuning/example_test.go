package tuning_test

import (
	"fmt"
	"net/netip"

	"edgeguard"
	"edgeguard/rules"
	"edgeguard/tuning"
)

// Three addresses guess passwords among a hundred that read.
func Example() {
	tally := tuning.NewTally(tuning.Config{})
	visit := func(addr netip.Addr, requests uint32) {
		for n := range requests {
			tally.Event(n + 1) // the count after each request, as the ring gives it
		}
		key := edgeguard.Key{Prefix: netip.PrefixFrom(addr, 32)}
		tally.RecordPeak(key, requests)
	}
	for i := range 100 {
		visit(netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}), uint32(20+i/4))
	}
	for i := range 3 {
		visit(netip.AddrFrom4([4]byte{203, 0, 113, byte(i)}), uint32(400+100*i))
	}

	fmt.Println("half stay at or under", tally.Peaks.Quantile(0.5))
	fmt.Println("highest:", tally.Top.Sorted()[0].Key)
	for _, o := range tally.Outcomes(nil, nil) {
		fmt.Printf("%4d: %3d keys, %4.1f %% of requests\n", o.Threshold, o.Keys, 100*o.EventShare)
	}
	fmt.Println(tally.Suggest(nil, rules.People{}).Reason)

	// Output:
	// half stay at or under 32
	// highest: 203.0.113.2
	//   10: 103 keys, 78.1 % of requests
	//   20:  99 keys, 56.2 % of requests
	//   50:   3 keys, 28.7 % of requests
	//  100:   3 keys, 25.5 % of requests
	//  200:   3 keys, 19.1 % of requests
	//  500:   1 keys,  2.2 % of requests
	// 1000:   0 keys,  0.0 % of requests
	// the gap between 44 and 400 requests separates 3 addresses; a limit of 100 requests denies 26 % of requests
}
