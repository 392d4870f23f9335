package node

import (
	"log/slog"
	"time"

	"edgeguard/aggregator/quarantine"
	"edgeguard/config"
	"edgeguard/node/alarm"
	"edgeguard/node/pipeline"
)

// confirmShare is the share of the requests above which a block awaits
// confirmation. A node alone has the default: its blocks by hand are weighed
// too.
func confirmShare(c *config.Config) float64 {
	if c.Fleet == nil {
		return quarantine.DefaultConfirmShare
	}
	return c.Fleet.ConfirmShare
}

// resyncEvery is how often the fleet's list is read again, for records that found no
// room among the held ones.
const resyncEvery = time.Minute

// heldCheck raises the alarm about records of the fleet that wait.
// Two of this node's pushes are answered before it: a block that the node's own
// rules confirm is released first.
type heldCheck struct {
	pipeline   *pipeline.Pipeline
	quarantine *quarantine.Quarantine
	alarms     *alarm.Tracker
	log        *slog.Logger
	resync     func() // reads the fleet's list again
	changed    func(held int)
	asked      time.Time
	last       quarantine.Stats
}

func (h *heldCheck) check(now time.Time) {
	g := h.pipeline.Current()
	for _, tombstone := range h.quarantine.Sweep(now, g.Detector) {
		h.pipeline.Forget(now, tombstone)
	}
	if g.Config.Fleet == nil {
		return
	}
	if s := h.quarantine.Stats(); s != h.last {
		h.last = s
		h.changed(s.Held)
	}
	if now.Sub(h.asked) >= resyncEvery && h.quarantine.Lacking() {
		h.asked = now
		h.resync()
	}
	if w := h.quarantine.Summary(now, g.Detector, 2*g.Config.Fleet.Push+time.Second); w.IsAny() {
		h.alarms.Begins(now, alarm.Held, "", w.String())
	} else if h.alarms.Ends(alarm.Held, "") {
		h.log.Info("no record of the fleet waits any more", "alarm", alarm.Held)
	}
}
