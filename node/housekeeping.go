package node

import (
	"context"
	"fmt"
	"time"

	"edgeguard/blocklist"
	"edgeguard/clockguard"
	"edgeguard/node/alarm"
	"edgeguard/node/checks"
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
	steps   []func(now time.Time) // once a second, in this order
	slow    []func(now time.Time) // at the start, and every ten seconds
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
			each(h.slow, now)
			slow = now
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		h.observeClock()
		each(h.steps, h.clock.Now())
	}
}

func each(steps []func(time.Time), now time.Time) {
	for _, step := range steps {
		step(now)
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

// housekeeping lists what is done once a second.
func (n *Node) housekeeping() *housekeeping {
	hidden := &checks.Hidden{Current: n.pipeline.Current, Alarms: n.alarms}
	dominant := &checks.Dominant{Current: n.pipeline.Current, Alarms: n.alarms}
	held := &heldCheck{pipeline: n.pipeline, quarantine: n.quarantine, alarms: n.alarms, log: n.options.Log, resync: n.fleet.Resync, changed: n.admin.held}
	nodes := &checks.Nodes{Current: n.pipeline.Current, Alarms: n.alarms}
	claims := &checks.Claims{List: n.list, Alarms: n.alarms, Peers: n.protected.peers.Load}
	unsigned := &checks.Unsigned{Current: n.pipeline.Current, Records: n.fleet.Records, Alarms: n.alarms}
	room := &checks.Room{List: n.list, Alarms: n.alarms, Log: n.options.Log.Info}
	flood := &checks.Flooded{Watch: n.pipeline.Flood, Alarms: n.alarms, Log: n.options.Log.Info}
	site := &checks.SiteFails{Fails: n.pipeline.Fails, Site: n.pipeline.Site, Alarms: n.alarms}
	served := &checks.Served{
		Begun: n.lifecycle.begun, Current: n.pipeline.Current, Answers: &n.pipeline.Answers, Report: n.report, Alarms: n.alarms,
		Blocks: func() int { return n.list.Len() + n.imports.Summary().Blocks },
	}
	return &housekeeping{
		clock: n.clock, alarms: n.alarms, systemd: n.lifecycle.systemd,
		slow: []func(time.Time){
			n.elsewhere.Check, dominant.Check, hidden.Check, unsigned.Check, served.Check, n.store.checkAside, n.pipeline.Samples().Sweep,
		},
		steps: []func(time.Time){
			n.alarms.Again, n.sweep, n.fleet.Follow, held.check, nodes.Check, room.Check, n.imports.Check, claims.Check, flood.Check, site.Check, n.enforcers.Check, n.neighbours.Bouncers.Check,
			n.sensors.checkLoss, n.sensors.uncounted.Check, n.sensors.checkSilence, n.sensors.asked.Check, n.admin.listeners.Check, n.admin.status.KeepHistory,
			func(time.Time) { n.admin.noteRates(n.admin.status.Now(), n.pipeline) },
		},
	}
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
