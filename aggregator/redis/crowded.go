package redis

import (
	"fmt"
	"time"

	"edgeguard/aggregator/fleet"
)

// fleetFull is how many records the library keeps before a rule's block must
// replace another: FULL in blocks.lua.
const fleetFull = 1 << 18

// keptHere counts a block that stays on this node, since the fleet has no room.
func (p *publisher) keptHere(c fleet.Change) {
	p.stats.kept.Add(1)
	if p.crowded.NoteKept(time.Now()) {
		p.node.Alarm("full", "list", fmt.Sprintf("the fleet's list in Redis is full: none of its %d records could be replaced by %s, which is in force on this node only. "+
			"The usual cause is a flood from many networks: check who is blocked (edgeguard blocks list). Addresses that send requests to other nodes, too, are blocked there by their totals", fleetFull, c.Block.Prefix))
	}
}

// calmCrowded ends the alarm about a full list, also one of an earlier link.
func (p *publisher) calmCrowded() {
	if p.crowded.Ended(time.Now()) {
		p.node.Calm("full", "list")
	}
}
