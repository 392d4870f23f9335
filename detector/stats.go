package detector

import (
	"encoding/binary"
	"net/netip"
	"sync/atomic"
	"unsafe"

	"edgeguard"
)

// Stats tells what a detector, and those before it, have done so far.
type Stats struct {
	Events   uint64 // events decided
	Passed   uint64
	Shadowed uint64
	Denied   uint64
	Spared   uint64 // of the passed: allowed or protected addresses
	Late     uint64 // not counted by a meter: older than its window
	Early    uint64 // from after now, counted at now
}

// stripes are the statistics as they grow, split by address: whoever decides
// on one address already shares its table's lock with the others that do, and
// so shares no further cache line with anybody else.
type stripes [64]stripe

// stripe has the cache lines of its counters to itself, and those of its
// crowd.
type stripe struct {
	counters
	_     [twoLines - unsafe.Sizeof(counters{})%twoLines]byte
	crowd crowd
	_     [twoLines - unsafe.Sizeof(crowd{})%twoLines]byte
}

// twoLines is how much memory processors take from each other at once: a cache
// line of 64 bytes, and the neighbour that is fetched with it.
const twoLines = 128

// counters is Stats as it grows.
type counters struct {
	actions             [edgeguard.ActionBlock + 1]atomic.Uint64
	spared, late, early atomic.Uint64
}

// of gives the address's stripe.
func (s *stripes) of(addr netip.Addr) *stripe {
	b := addr.As16()
	h := binary.LittleEndian.Uint64(b[:8]) ^ binary.LittleEndian.Uint64(b[8:])*0x9e3779b97f4a7c15
	return &s[h*0xff51afd7ed558ccd>>58]
}

// notes are the statistics of some decisions of one goroutine.
type notes struct {
	actions             [edgeguard.ActionBlock + 1]uint64
	spared, late, early uint64
	// seen counts decisions for sampling; it is not cleared.
	seen uint64
}

// sample takes every so many events into the sample of requests.
func (n *notes) sample(d *Detector, event *edgeguard.Event, at moment, spared bool) {
	if n.seen++; sampled(n.seen) && isRequest(event) {
		d.stripes.of(event.Addr).crowd.note(at.nowSec, event.Addr, spared)
	}
}

// add adds notes to the stripe of an address and clears them.
func (s *stripes) add(n *notes, addr netip.Addr) {
	stripe := s.of(addr)
	for i, count := range n.actions {
		if count > 0 {
			stripe.actions[i].Add(count)
		}
	}
	if n.spared+n.late+n.early > 0 {
		stripe.spared.Add(n.spared)
		stripe.late.Add(n.late)
		stripe.early.Add(n.early)
	}
	*n = notes{seen: n.seen}
}

// noteOne counts a decision that was made alone.
func (s *stripes) noteOne(c *decision, action edgeguard.Action) {
	stripe := s.of(c.event.Addr)
	seen := stripe.actions[action].Add(1)
	if c.late {
		stripe.late.Add(1)
	}
	if c.early {
		stripe.early.Add(1)
	}
	spared := c.spared()
	if spared {
		stripe.spared.Add(1)
	}
	if sampled(seen) && isRequest(c.event) {
		stripe.crowd.note(c.nowSec, c.event.Addr, spared)
	}
}

// Stats gives what the detector has done so far, and those that it took over
// from. Under concurrent use its figures may be a few events apart from each
// other.
func (d *Detector) Stats() Stats {
	var out Stats
	for i := range d.stripes {
		s := &d.stripes[i].counters
		out.Passed += s.actions[edgeguard.ActionPass].Load()
		out.Shadowed += s.actions[edgeguard.ActionShadow].Load()
		out.Denied += s.actions[edgeguard.ActionDeny].Load()
		out.Spared += s.spared.Load()
		out.Late += s.late.Load()
		out.Early += s.early.Load()
	}
	out.Events = out.Passed + out.Shadowed + out.Denied
	return out
}
