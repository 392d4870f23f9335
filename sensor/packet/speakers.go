package packet

import (
	"bytes"
	"encoding/binary"

	"github.com/cespare/xxhash/v2"

	"edgeguard"
)

// The table of who asked: 1 MB.
const (
	speakerWays = 8
	speakerSets = 1 << 14
)

// warmUp is how many seconds of a capture a UDP packet from a well-known port to another is
// taken for an answer to what came before the capture.
const warmUp = 60

// firstSpeakers remembers which end of a flow spoke first, for as many flows as it has room: those
// that were silent for longest are forgotten. A port that somebody asked for says something
// about him; the port of a client to which a server answers does not say anything about
// the server.
//
// It can be misled, and what it says is no proof: TCP packets of flows that it has not seen
// are attributed by which port is the lower, SYN-ACKs and resets are always answers.
type firstSpeakers struct {
	seed  uint64
	first uint32 // capture time of the first packet
	sets  [][speakerWays]speaker
}

// speaker is a flow: tag holds a part of its hash, at its lowest bit whether the lower of the
// two ends spoke first. 0 is a free place.
type speaker struct{ tag, seen uint32 }

// answer reports whether the packet answers one from the other end, and notes its flow.
func (t *firstSpeakers) answer(now uint32, h *header) bool {
	if !h.ports {
		return false
	}
	if t.sets == nil {
		t.sets, t.first = make([][speakerWays]speaker, speakerSets), now
	}
	set, tag, low := t.locate(h)
	syn := h.flags&(flagSYN|flagACK) == flagSYN
	oldest := &set[0]
	for i := range set {
		a := &set[i]
		if a.tag|1 == tag|1 && int32(now-a.seen) <= openFor {
			a.seen = now
			if syn { // whoever begins a connection asks, whatever was before
				a.tag = tag | low
			}
			return a.tag != tag|low
		}
		if a.tag == 0 || oldest.tag != 0 && int32(a.seen-oldest.seen) < 0 {
			oldest = a
		}
	}
	answer := !syn && t.looksLike(now, h)
	*oldest = speaker{tag | low, now}
	if answer {
		oldest.tag ^= 1
	}
	return answer
}

// looksLike reports whether a packet whose flow is not known is more likely an answer.
func (t *firstSpeakers) looksLike(now uint32, h *header) bool {
	switch {
	case h.kind&edgeguard.KindUDP != 0:
		return now-t.first < warmUp && h.sourcePort < 1024 && h.destPort >= 1024
	case h.flags&flagRST != 0, h.flags&(flagSYN|flagACK) == flagSYN|flagACK:
		return true
	}
	return h.flags&flagACK != 0 && h.sourcePort < h.destPort
}

// locate returns the set where a flow may be, its tag, and 1 if the source is the lower end.
func (t *firstSpeakers) locate(h *header) (set *[speakerWays]speaker, tag, low uint32) {
	var b [45]byte
	from, to := h.source.As16(), h.dest.As16()
	fromPort, toPort := h.sourcePort, h.destPort
	if c := bytes.Compare(from[:], to[:]); c < 0 || c == 0 && fromPort < toPort {
		low = 1
	} else {
		from, to, fromPort, toPort = to, from, toPort, fromPort
	}
	binary.LittleEndian.PutUint64(b[:], t.seed)
	copy(b[8:], from[:])
	copy(b[24:], to[:])
	binary.LittleEndian.PutUint16(b[40:], fromPort)
	binary.LittleEndian.PutUint16(b[42:], toPort)
	b[44] = byte(h.kind & edgeguard.KindUDP)
	hash := xxhash.Sum64(b[:])
	return &t.sets[hash%speakerSets], uint32(hash>>32)&^1 | 1<<31, low
}
