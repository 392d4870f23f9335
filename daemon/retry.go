package daemon

import (
	"context"
	"time"
)

// retryEvery is how long after a fault a part is tried again.
const retryEvery = 5 * time.Second

// keepTrying runs a part until ctx is done. What it fails with is an alarm
// that stands until the part calls works.
func (n *Node) keepTrying(ctx context.Context, kind, about string, run func(ctx context.Context, works func()) error) {
	works := func() {
		if n.alarms.ends(kind, about) {
			n.log.Info("works again", "alarm", kind, "about", about)
		}
	}
	for {
		err := run(ctx, works)
		if ctx.Err() != nil {
			n.alarms.ends(kind, about)
			return
		}
		if err != nil {
			n.alarms.begins(n.clock.Now(), kind, about, err.Error())
		}
		if !pause(ctx, retryEvery) {
			return
		}
	}
}

// pause waits, and reports whether it did to the end.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
