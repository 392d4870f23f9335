package edgeguard

import "slices"

// Treatment is what the status of a log line says of a request that should have been refused.
type Treatment uint8

// The treatments. Nothing is said where the status is not known, where the server failed, and
// where servers answer before they look who asks.
const (
	TreatmentUnknown Treatment = iota
	TurnedAway
	Served
)

// turning are the statuses with which proxies turn a client away: those of `edgeguard
// snippets`, and nginx's 444, which closes the connection.
var turning = []uint16{403, 429, 444}

// early are the answers that servers give before they look who asks: to what is not
// HTTP, too long, or too slow, and nginx's own of connections that end.
var early = []uint16{400, 405, 408, 413, 414, 421, 431, 494, 495, 496, 497, 498, 499}

// TreatmentOf returns what a status says; also are statuses with which this server turns
// clients away beside the usual ones.
func TreatmentOf(status uint16, also []uint16) Treatment {
	switch {
	case slices.Contains(turning, status), slices.Contains(also, status):
		return TurnedAway
	case status < 200, status >= 500, slices.Contains(early, status):
		return TreatmentUnknown
	}
	return Served
}
