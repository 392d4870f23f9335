package detector

import (
	"net/netip"
	"slices"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
)

// actionOf is what rule r does about this address's count over its limit: the address of
// another node, by its signed heartbeat, is not refused, nor is a front door's.
func (l *listed) actionOf(r *rule) edgeguard.Action {
	action := l.d.action(r)
	if action >= edgeguard.ActionDeny && (l.standing == blocklist.Peer || l.frontDoor() != "") {
		return edgeguard.ActionAlarm
	}
	return action
}

// frontDoor returns what stands before the site with the event's address, as [frontdoor.Sources.DoorOf]:
// nothing if the config says that it is a client's.
func (o *occasion) frontDoor() string {
	if o.d.isClient(o.event.Addr) {
		return ""
	}
	return o.d.config.Doors.DoorOf(o.event, o.nowSec)
}

// fleetDoor is the same for a key that the fleet counted: as far as any source here tells.
func (d *Detector) fleetDoor(now time.Time, r *rule, prefix netip.Prefix) string {
	if d.meters[r.Meter].Kind&httpKinds == 0 || d.isClient(prefix.Addr()) {
		return ""
	}
	return d.config.Doors.DoorOfAny(prefix.Addr(), seconds(now))
}

// isClient reports whether the config names an address as a client's.
func (d *Detector) isClient(a netip.Addr) bool {
	return slices.ContainsFunc(d.config.Clients, func(p netip.Prefix) bool { return p.Contains(a) })
}

// showDoors shows the front doors the events of a batch up to the i-th. A decision must not know of
// events that come after it.
func (b *batch) showDoors(d *Detector, events []edgeguard.Event, i int) {
	if d.config.Doors == nil {
		return
	}
	for ; b.doors <= i; b.doors++ {
		d.config.Doors.NoteClient(&events[b.doors], b.moments[b.doors].nowSec)
	}
}
