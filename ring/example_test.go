package ring_test

import (
	"fmt"

	"edgeguard/ring"
)

// A client sends ten requests in each of the slots 1000 to 1029, and then
// falls silent.
func Example() {
	var window ring.Ring
	for slot := uint32(1000); slot < 1030; slot++ {
		window.Add(slot, slot, 10)
	}
	fmt.Println("count:", window.Count(1029))
	fmt.Println("of the last six slots:", window.Last(1029, 6))
	fmt.Println("at most 200 after:", window.Until(1029, 200), "slots")

	// A line that was written late still counts in its own slot.
	count, counted := window.Add(1029, 1010, 1)
	fmt.Println("a late event:", count, counted)
	count, counted = window.Add(1029, 900, 1)
	fmt.Println("one too late:", count, counted)
	// Output:
	// count: 300
	// of the last six slots: 60
	// at most 200 after: 40 slots
	// a late event: 301 true
	// one too late: 301 false
}
