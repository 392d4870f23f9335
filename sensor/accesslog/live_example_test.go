package accesslog_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"edgeguard"
	"edgeguard/sensor/accesslog"
)

// A log is followed, and a snapshot takes counts and position of one moment: it
// holds the gate meanwhile.
func ExampleFollower() {
	folder, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "access.log")
	line := `192.0.2.1 - - [20/Feb/2016:00:00:45 -0500] "GET / HTTP/1.1" 200 187 "-" "Agent/1.0"` + "\n"
	if err := os.WriteFile(path, []byte(line+line+line), 0o600); err != nil {
		fmt.Println(err)
		return
	}

	var gate sync.RWMutex // guards counts
	ctx, cancel := context.WithCancel(context.Background())
	counts := map[string]int{} // stands for the node's counts
	f, err := accesslog.NewFollower(accesslog.FollowConfig{
		Live: accesslog.Live{
			Now: time.Now,
			Decide: func(_ time.Time, events []edgeguard.Event) {
				for i := range events {
					counts[events[i].Addr.String()]++
				}
				if counts["192.0.2.1"] == 3 {
					cancel()
				}
			},
		},
		File:      path,
		Beginning: true, // of a log that is followed for the first time
		Gate:      gate.RLocker(),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	f.Run(ctx)

	gate.Lock()
	fmt.Println(counts, "up to byte", f.Position().Files[0].Offset)
	gate.Unlock()
	// Output:
	// map[192.0.2.1:3] up to byte 252
}
