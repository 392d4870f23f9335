package redistwin

import (
	"encoding/binary"
	"fmt"

	"edgeguard"
	"edgeguard/aggregator"
)

// parseHeader reads what [aggregator.Header.Append] wrote.
func parseHeader(b []byte) (aggregator.Header, error) {
	var h aggregator.Header
	if len(b) != aggregator.HeaderSize {
		return h, fmt.Errorf("header of %d bytes: not %d", len(b), aggregator.HeaderSize)
	}
	copy(h.Node[:], b)
	h.Now = int64(binary.BigEndian.Uint64(b[8:]))
	h.Width = binary.BigEndian.Uint32(b[16:])
	if h.Width == 0 || h.Now < 0 {
		return h, fmt.Errorf("header %x: width %d, now %d", b, h.Width, h.Now)
	}
	return h, nil
}

// parseBody reads what [aggregator.Push.AppendBody] wrote.
func parseBody(b []byte) (aggregator.Push, error) {
	var p aggregator.Push
	n := (len(b) - aggregator.BodySize) / 2
	if n < 1 || n > edgeguard.Slots || len(b) != aggregator.BodySize+2*n {
		return p, fmt.Errorf("body of %d bytes: not 1 to %d slots", len(b), edgeguard.Slots)
	}
	p.First = binary.BigEndian.Uint32(b)
	p.Sum = binary.BigEndian.Uint32(b[4:])
	if p.First+uint32(n)-1 < p.First {
		return p, fmt.Errorf("body from slot %d: runs past the last slot", p.First)
	}
	p.Counts = make([]uint16, n)
	for i := range p.Counts {
		p.Counts[i] = binary.BigEndian.Uint16(b[aggregator.BodySize+2*i:])
	}
	return p, nil
}
