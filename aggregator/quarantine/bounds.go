package quarantine

import (
	"edgeguard/aggregator"
	"edgeguard/blocklist/width"
)

// How wide the blocks and the allowances may be that are in force on others' word, each
// together: of nodes with the fleet's key a sixteenth of the address space, of whoever can
// write to Redis a 256th. The widths are unions, so that what is written twice takes no
// more room.
var signedMost, unsignedMost = width.PartOfSpace(16), width.PartOfSpace(256)

// keysRoom is the part of them that only single keys may take: as many as a fleet's list
// has records. Whoever fills the rest with networks could otherwise keep every node from
// the clients that others block.
const keysRoom = 1 << 18

// tooWide reports whether a block or an allowance waits for its width: unsigned, because
// it is wider than /24 or /48; or because what is in force of its kind would be too wide
// with it. Nothing but this node's operator ends that: a record that could, a forger would
// write.
func (q *Quarantine) tooWide(one *Held) bool {
	most := unsignedMost
	if one.Trust.Signed {
		most = signedMost
	} else if !aggregator.Narrow(one.Prefix) {
		return true
	}
	if !single(one.Prefix) {
		most.V4, most.V6 = most.V4-keysRoom, most.V6-keysRoom
	}
	with := q.list.WidthWith(one.source(), one.Prefix)
	if one.Prefix.Addr().Is4() {
		return with.V4 > most.V4
	}
	return with.V6 > most.V6
}
