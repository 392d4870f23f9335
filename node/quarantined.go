package node

import (
	"time"

	"edgeguard/aggregator/quarantine"
	"edgeguard/config"
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
	alarms     *alarms
}

func (h *heldCheck) check(now time.Time) {
	g := h.pipeline.Current()
	h.quarantine.Sweep(now, g.Detector)
	if g.Config.Fleet == nil {
		return
	}
	if w := h.quarantine.Summary(now, g.Detector, 2*g.Config.Fleet.Push+time.Second); w.Blocks > 0 {
		h.alarms.begins(now, alarmHeld, "", w.String())
	} else if h.alarms.ends(alarmHeld, "") {
		h.alarms.log.Info("no block awaits confirmation any more", "alarm", alarmHeld)
	}
}
