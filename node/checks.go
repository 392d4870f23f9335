package node

import (
	"fmt"
	"time"

	"edgeguard/detector"
	"edgeguard/node/alarm"
	"edgeguard/node/pipeline"
)

// leastEvents is how many requests there must be for a share to say something.
const leastEvents = 100

// dominantCheck raises the alarm about an address with more than half of all
// requests: a proxy that hides its clients, or an attack.
type dominantCheck struct {
	pipeline *pipeline.Pipeline
	alarms   *alarm.Tracker
}

func (d *dominantCheck) check(now time.Time) {
	addr, share, ok := d.pipeline.Current().Detector.Dominant(now)
	if !ok {
		d.alarms.Ends(alarm.Dominant, "")
		return
	}
	d.alarms.Begins(now, alarm.Dominant, "", fmt.Sprintf(
		"%v sends %.0f %% of all requests: if it is your proxy or load balancer, it hides its clients: name it in trusted_proxies, and have it send their addresses", addr, 100*share))
}

// hiddenCheck raises the alarm about clients that cannot be told apart: where
// most requests seem to come from this host or from a trusted proxy, that proxy
// does not name its clients, and none of them is counted.
type hiddenCheck struct {
	pipeline *pipeline.Pipeline
	alarms   *alarm.Tracker
	before   detector.Stats // at the previous check
}

func (h *hiddenCheck) check(now time.Time) {
	s := h.pipeline.Current().Detector.Stats()
	events, spared := s.Events-h.before.Events, s.Spared-h.before.Spared
	h.before = s
	switch {
	case events < leastEvents:
	case 2*spared > events:
		h.alarms.Begins(now, alarm.Hidden, "", fmt.Sprintf(
			"%d of the last %d requests came from allowed or protected addresses and were not counted: if they are your clients', have the proxy before edgeguard send their addresses", spared, events))
	default:
		h.alarms.Ends(alarm.Hidden, "")
	}
}
