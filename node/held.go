package node

import (
	"time"

	"edgeguard"
	"edgeguard/aggregator/quarantine"
	"edgeguard/config"
)

// confirmShare is the share of the requests from which on blocks wait for a
// word. A node alone, whose blocks by hand are weighed all the same, has the
// default.
func confirmShare(c *config.Config) float64 {
	if c.Fleet == nil {
		return quarantine.DefaultConfirmShare
	}
	return c.Fleet.ConfirmShare
}

// askFleet has what this node counts of a block that waits pushed at once.
func (n *Node) askFleet(b edgeguard.Block) {
	member, link := n.pipeline.Current().Member, n.link()
	if member == nil || link == nil {
		return
	}
	if key, ok := member.Key(b.Rule, b.Prefix); ok {
		link.Ask(key)
	}
}

// lookForHeld raises the alarm about blocks of the fleet that wait for a word.
// Before it, two of this node's pushes have been answered: what it finds by
// itself waits no more.
func (n *Node) lookForHeld(now time.Time) {
	core := n.pipeline.Current()
	n.hold.Sweep(now, core.Detector)
	if core.Config.Fleet == nil {
		return
	}
	if w := n.hold.Summary(now, core.Detector, 2*core.Config.Fleet.Push+time.Second); w.Blocks > 0 {
		n.alarms.begins(now, alarmHeld, "", w.String())
	} else if n.alarms.ends(alarmHeld, "") {
		n.log.Info("no block waits for a word any more", "alarm", alarmHeld)
	}
}
