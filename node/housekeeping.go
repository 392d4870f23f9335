package node

import (
	"context"
	"fmt"
	"time"

	"edgeguard/blocklist"
	"edgeguard/clockguard"
	"edgeguard/node/alarm"
)

const (
	houseEvery = time.Second
	slowEvery  = 10 * time.Second
	// sweepSteps bounds the blocks that one second removes, 256 a step: a
	// million that end together are gone in a quarter of a minute, and are no
	// longer enforced from the first second on.
	sweepSteps = 256
)

// housekeeping does once a second what must not wait for the next request, and
// reports to systemd's watchdog.
type housekeeping struct {
	clock   *clockguard.Clock
	alarms  *alarm.Tracker
	systemd notifier
	parts   parts
}

// run works until ctx is done.
func (h *housekeeping) run(ctx context.Context) {
	tick := time.NewTicker(houseEvery)
	defer tick.Stop()
	var alive, slow time.Time
	for {
		now := h.clock.Now()
		if h.systemd.watchdog > 0 && now.Sub(alive) >= h.systemd.watchdog {
			h.systemd.alive()
			alive = now
		}
		if now.Sub(slow) >= slowEvery {
			h.parts.checkSeldom(now)
			slow = now
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		h.observeClock()
		h.parts.check(h.clock.Now())
	}
}

// observeClock follows the wall clock.
func (h *housekeeping) observeClock() {
	step, stepped := h.clock.Observe(clockguard.Read())
	if !stepped {
		return
	}
	h.alarms.Happened(step.At, alarm.Clock, step.By.String(), fmt.Sprintf(
		"the wall clock stepped by %v: counts and blocks are not affected; check the host's time synchronization", step.By.Round(time.Millisecond)))
}

// sweep removes blocks that have ended and a sixtieth of a minute's keys.
func (n *Node) sweep(now time.Time) {
	for range sweepSteps {
		if n.list.Sweep(now) < blocklist.SweepStep {
			break
		}
	}
	for range sweepSteps {
		if !n.imports.Set.Sweep(now) {
			break
		}
	}
	n.pipeline.Sweep(now)
}
