// Package checks judges what a node's figures say: who dominates the requests, what is
// not counted, which log is silent, what is full. It raises the alarms about it.
// Housekeeping calls each check about once a second.
package checks

import (
	"fmt"
	"time"

	"edgeguard/detector"
	"edgeguard/node/alarm"
	"edgeguard/node/pipeline"
)

// leastEvents is how many requests there must be for a share to say something.
const leastEvents = 100

// Dominant raises the alarm about an address with more than half of all
// requests: a proxy that hides its clients, or an attack.
type Dominant struct {
	Current func() *pipeline.Generation
	Alarms  *alarm.Tracker
}

// Check raises the alarm, or ends it.
func (d *Dominant) Check(now time.Time) {
	addr, share, ok := d.Current().Detector.Dominant(now)
	if !ok {
		d.Alarms.Ends(alarm.Dominant, "")
		return
	}
	d.Alarms.Begins(now, alarm.Dominant, "", fmt.Sprintf(
		"%v sends %.0f %% of all requests: if it is your proxy or load balancer, it hides its clients: name it in trusted_proxies, and have it send their addresses", addr, 100*share))
}

// Hidden raises the alarm about clients that cannot be told apart: where
// most requests seem to come from this host or from a trusted proxy, that proxy
// does not name its clients, and none of them is counted.
type Hidden struct {
	Current func() *pipeline.Generation
	Alarms  *alarm.Tracker

	before detector.Stats // at the previous check
}

// Check raises the alarm, or ends it.
func (h *Hidden) Check(now time.Time) {
	s := h.Current().Detector.Stats()
	events, spared := s.Events-h.before.Events, s.Spared-h.before.Spared
	h.before = s
	switch {
	case events < leastEvents:
	case 2*spared > events:
		h.Alarms.Begins(now, alarm.Hidden, "", fmt.Sprintf(
			"%d of the last %d requests came from allowed or protected addresses and were not counted: if they are your clients', have the proxy before edgeguard send their addresses", spared, events))
	default:
		h.Alarms.Ends(alarm.Hidden, "")
	}
}
