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

// heldCheck raises the alarm about blocks of the fleet that await confirmation.
// Two of this node's pushes are answered before it: a block that the node's own
// rules confirm is released first.
type heldCheck struct {
	pipeline   *pipeline.Pipeline
	quarantine *quarantine.Quarantine
	alarms     *alarm.Tracker
	log        *slog.Logger
}

func (h *heldCheck) check(now time.Time) {
	g := h.pipeline.Current()
	h.quarantine.Sweep(now, g.Detector)
	if g.Config.Fleet == nil {
		return
	}
	if w := h.quarantine.Summary(now, g.Detector, 2*g.Config.Fleet.Push+time.Second); w.Blocks > 0 {
		h.alarms.Begins(now, alarm.Held, "", w.String())
	} else if h.alarms.Ends(alarm.Held, "") {
		h.log.Info("no block awaits confirmation any more", "alarm", alarm.Held)
	}
}
