// Package peers holds the tables that edgeguard's shard is measured against,
// all behind one question: count this address, and say how many it has now.
//
//	go test -bench . -benchtime 1s        in this folder
//
// It is a module of its own, so that the libraries compared with are no
// dependency of edgeguard. It is not a judgement of them: x/time/rate and
// go-limiter keep less for a key than a window of 60 slots, and promise less.
package peers

import "net/netip"

// Counter is a table under measurement. Its keys are IPv4 addresses; slot is
// the time, in slots of five seconds, the same for every peer, so that none
// pays for reading a clock. The answer is a count where the peer has one, else
// what is left or whether the event was allowed; the callers only make sure
// that it is waited for.
type Counter interface {
	Add(addr netip.Addr, slot uint32) uint32
}

// lockShards is how many locks the sharded maps are split over.
const lockShards = 256

// lockShard picks the lock of an address, by the same cheap mix for all.
func lockShard(addr netip.Addr) uint32 {
	b := addr.As4()
	n := uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
	return n * 0x85ebca6b >> 24
}
