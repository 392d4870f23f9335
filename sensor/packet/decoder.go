package packet

import (
	"net/netip"
	"time"

	"edgeguard"
)

// decoder turns records into events.
type decoder struct {
	kinds    edgeguard.Kind
	local    []netip.Prefix
	flows    *flows         // nil where no kind needs them
	speakers *firstSpeakers // nil unless Options.Answers
	header   header
	stats    Stats
}

func newDecoder(o Options) *decoder {
	d := &decoder{kinds: o.Kinds, local: o.Local}
	d.stats.NotIP = make(map[LinkType]uint64)
	if o.Kinds&flowKinds != 0 {
		d.flows = &flows{seed: o.Seed}
	}
	if o.Answers {
		d.speakers = &firstSpeakers{seed: o.Seed}
	}
	return d
}

// decode adds the record's event to the batch, if it has one. The batch has
// room.
func (d *decoder) decode(r *record, b *batch) {
	if !d.read(r) {
		return
	}
	h := &d.header
	in, out := d.direction(r.way)
	step := d.flowFlags()
	if out && step == flagSYN|flagACK { // only what goes out can be a server's answer
		d.flows.answered(uint32(r.sec), h)
	}
	answer := d.speakers != nil && d.speakers.answer(uint32(r.sec), h)
	if !in {
		return
	}
	kind := h.kind
	var e evidence
	if step == flagACK {
		if e = d.flows.trackClientACK(uint32(r.sec), h); e.opened {
			kind |= edgeguard.KindHandshake
		}
	}
	var q request
	if d.kinds&edgeguard.KindRequest != 0 && h.tcp && len(h.payload) > 0 && !e.repeated {
		var ok bool
		if q, ok = parseRequest(h.payload); ok {
			kind |= edgeguard.KindRequest
		}
	}
	if kind &= d.kinds; kind == 0 {
		return
	}
	if !r.timed {
		d.stats.Timeless++
		return
	}
	d.stats.Events++
	ev := b.add()
	d.fill(ev, r, kind)
	ev.Answer = answer
	if kind&flowKinds != 0 {
		prove(ev, e)
		b.keepRequest(ev, &q)
	}
}

// read reads the record's headers, and reports whether it is an IP packet.
func (d *decoder) read(r *record) bool {
	d.stats.Packets++
	ip, version := network(r.link, r.data)
	if version == 0 {
		d.stats.NotIP[r.link]++
		return false
	}
	if !d.header.parse(ip, version) {
		d.stats.Malformed++
		return false
	}
	d.stats.IP++
	return true
}

// direction says whether the packet may count as coming in, and as going out:
// without local prefixes it is as the kernel said, and where that said nothing, every one as both.
func (d *decoder) direction(w way) (in, out bool) {
	if len(d.local) == 0 {
		return w != wayOut, w != wayIn
	}
	from, to := d.isLocal(d.header.source), d.isLocal(d.header.dest)
	return to && !from, from && !to
}

func (d *decoder) isLocal(a netip.Addr) bool {
	for _, p := range d.local {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// flowFlags returns the flags that say what the packet does to its flow, or 0 where
// flows are not followed or the packet shows none.
func (d *decoder) flowFlags() uint8 {
	if d.flows == nil || !d.header.tcp {
		return 0
	}
	return d.header.flags & (flagSYN | flagACK | flagRST)
}

// fill sets what every event has. The other fields are zero already.
func (d *decoder) fill(ev *edgeguard.Event, r *record, kind edgeguard.Kind) {
	ev.Time = time.Unix(r.sec, r.nsec).UTC()
	ev.Addr = d.header.source
	ev.Kind = kind
	ev.Verified = 0
	ev.Known = 0
	ev.Port = 0
	if d.header.ports {
		ev.Port = d.header.destPort
		ev.Known = edgeguard.FieldPort
	}
}

// prove says which of the event's kinds a stranger could not have forged.
func prove(ev *edgeguard.Event, e evidence) {
	if e.opened {
		ev.Verified |= edgeguard.KindHandshake
	}
	if e.verified {
		ev.Verified |= edgeguard.KindRequest
	}
	ev.Verified &= ev.Kind
}
