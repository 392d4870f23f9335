package packet

import (
	"encoding/binary"
	"net/netip"

	"github.com/cespare/xxhash/v2"
)

// The table of flows: sets of flowWays places, searched in turn. It takes less
// than 4 MB, whatever comes.
const (
	flowWays = 4
	flowSets = 1 << 14
)

// How long a flow is believed, in seconds of capture time after its last
// packet. Linux repeats a SYN-ACK for 63 s; servers keep an idle connection
// for a few minutes.
const (
	halfOpenFor = 75
	openFor     = 600
)

// flowReach is how far a packet's numbers may lie from the last ones of its
// flow. A stranger who knows both ends of a flow must guess both numbers: one
// try in 2^22 is believed.
const flowReach = 1 << 20

// endpoints are the two ends of a flow.
type endpoints struct {
	client, server         [16]byte
	clientPort, serverPort uint16
}

func between(client, server netip.Addr, clientPort, serverPort uint16) endpoints {
	return endpoints{client.As16(), server.As16(), clientPort, serverPort}
}

// flow is a TCP connection whose SYN-ACK was seen.
//
// The client's SYN is not kept: the SYN-ACK repeats its number, and anyone
// can send it, so that a flood of SYNs that the server does not answer costs
// no place.
type flow struct {
	ends endpoints
	open bool   // the client has answered
	seen uint32 // capture time of its last packet, in seconds
	// clientNext and serverNext are the next sequence numbers: the one that
	// the client sends next, and the one that it expects of the server.
	clientNext, serverNext uint32
	serverFirst            uint32 // what serverNext began with
}

// live reports whether the flow is to be believed at the time now.
func (f *flow) live(now uint32) bool {
	idle := int32(now - f.seen) // negative where a capture steps back
	return idle <= halfOpenFor || f.open && idle <= openFor
}

// flows is a bounded memory of flows. A full set reuses the place of its oldest
// flow that is not open, and of its oldest if all are: half-open ones, which
// cost a stranger nothing, do not push out those that are open.
//
// It is deliberately forgetful: what it has lost is not verified.
type flows struct {
	seed uint64
	// tags hold a part of each place's hash, 0 where it is empty. Most packets
	// belong to no flow in the table, and these are few enough to stay in the
	// cache. Both tables are made for the first flow: many captures have none.
	tags  [][flowWays]uint32
	table [][flowWays]flow
}

// locate returns the set where a flow may be, and its tag.
func (t *flows) locate(e *endpoints) (set int, tag uint32) {
	var b [44]byte
	binary.LittleEndian.PutUint64(b[:], t.seed)
	copy(b[8:], e.client[:])
	copy(b[24:], e.server[:])
	binary.LittleEndian.PutUint16(b[40:], e.clientPort)
	binary.LittleEndian.PutUint16(b[42:], e.serverPort)
	hash := xxhash.Sum64(b[:])
	return int(hash % flowSets), uint32(hash>>32) | 1
}

// find returns the flow, or nil if it is not there or too old.
func (t *flows) find(now uint32, e *endpoints, set int, tag uint32) *flow {
	for i, other := range &t.tags[set] {
		if other != tag {
			continue
		}
		if f := &t.table[set][i]; f.ends == *e && f.live(now) {
			return f
		}
	}
	return nil
}

// victim returns the place for a new flow.
func (t *flows) victim(now uint32, set int) int {
	worst := 0
	for i, tag := range &t.tags[set] {
		f, w := &t.table[set][i], &t.table[set][worst]
		if tag == 0 || !f.live(now) {
			return i
		}
		if f.open == w.open && int32(f.seen-w.seen) < 0 || w.open && !f.open {
			worst = i
		}
	}
	return worst
}

// answered remembers a server's SYN-ACK. A repeated one changes nothing.
func (t *flows) answered(now uint32, h *header) {
	ends := between(h.dest, h.source, h.destPort, h.sourcePort)
	first := h.seq + 1
	if t.tags == nil {
		t.tags = make([][flowWays]uint32, flowSets)
		t.table = make([][flowWays]flow, flowSets)
	}
	set, tag := t.locate(&ends)
	f := t.find(now, &ends, set, tag)
	if f != nil && f.open && f.serverFirst == first {
		return
	}
	if f == nil {
		i := t.victim(now, set)
		t.tags[set][i] = tag
		f = &t.table[set][i]
	}
	*f = flow{ends: ends, seen: now, clientNext: h.ack, serverFirst: first, serverNext: first}
}

// evidence is what a client's packet shows.
type evidence struct {
	opened   bool // it completes the handshake
	verified bool // it is of a flow whose handshake was seen
	repeated bool // it begins before what was already sent on the flow
}

// trackClientACK reads a client's ACK, and moves its flow on.
//
// After the handshake the numbers must stay near those of the flow's last
// packet: that is what a stranger who knows both ends cannot say.
func (t *flows) trackClientACK(now uint32, h *header) evidence {
	if t.tags == nil {
		return evidence{}
	}
	ends := between(h.source, h.dest, h.sourcePort, h.destPort)
	set, tag := t.locate(&ends)
	f := t.find(now, &ends, set, tag)
	if f == nil {
		return evidence{}
	}
	ahead, further := int32(h.seq-f.clientNext), int32(h.ack-f.serverNext)
	var e evidence
	if !f.open {
		if ahead != 0 || further != 0 {
			return evidence{}
		}
		f.open = true
		e.opened = true
	} else if max(ahead, -ahead) > flowReach || max(further, -further) > flowReach {
		return evidence{}
	}
	e.verified = true
	e.repeated = ahead < 0
	f.seen = now
	if end := h.seq + h.length; int32(end-f.clientNext) > 0 {
		f.clientNext = end
	}
	if further > 0 {
		f.serverNext = h.ack
	}
	return e
}
