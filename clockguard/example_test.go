package clockguard_test

import (
	"fmt"
	"time"

	"edgeguard/clockguard"
)

// The wall clock jumps an hour back; slots go on, and the offset takes the
// jump.
func Example() {
	wall := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	clock := clockguard.New(clockguard.Reading{Wall: wall, Mono: 0}, clockguard.Config{})

	step, stepped := clock.Observe(clockguard.Reading{Wall: wall.Add(10*time.Second - time.Hour), Mono: 10 * time.Second})
	fmt.Println("stepped:", stepped, step.By)

	local := clock.At(15 * time.Second)
	fmt.Println("local:  ", local.Format(time.TimeOnly), "slot", clockguard.Slot(local, 5))
	epoch := clock.Epoch(local)
	fmt.Println("epoch:  ", epoch.Format(time.TimeOnly), "slot", clockguard.Slot(epoch, 5))

	// Output:
	// stepped: true -1h0m0s
	// local:   03:04:20 slot 353464612
	// epoch:   02:04:20 slot 353463892
}
