package snapshot

import (
	"math"
	"time"

	"edgeguard"
)

// maxParts is how many nodes' parts a record has at most, maxName the length of
// their names and maxWith that of the attributes: a record is shorter than maxRecord.
const maxParts, maxName, maxWith = 16, 255, 1 << 10

func (e *encoder) evidence(v *edgeguard.Evidence, offset time.Duration) {
	e.prefix(v.Prefix, false)
	e.flags(v.Fleet, v.MayBeCustomer)
	e.text(v.Rule)
	e.text(v.Node)
	e.text(v.With[:min(len(v.With), maxWith)])
	e.time(shifted(v.Since, offset))
	e.time(shifted(v.Until, offset))
	for _, n := range []uint32{v.Count, v.Limit, v.Threshold, v.Width} {
		e.uint(uint64(n))
	}
	for _, n := range v.Slots {
		e.uint(uint64(n))
	}
	parts := v.Split[:min(len(v.Split), maxParts)]
	e.uint(uint64(len(parts)))
	for _, p := range parts {
		e.text(p.Node[:min(len(p.Node), maxName)])
		e.uint(uint64(p.Count))
	}
}

func (d *decoder) evidence(v *edgeguard.Evidence) {
	v.Prefix, _ = d.prefix()
	d.flags(&v.Fleet, &v.MayBeCustomer)
	v.Rule = d.text()
	v.Node = d.text()
	v.With = d.text()
	v.Since = d.time()
	v.Until = d.time()
	for _, n := range []*uint32{&v.Count, &v.Limit, &v.Threshold, &v.Width} {
		*n = d.uint32()
	}
	if v.Width == 0 {
		d.fail("a slot of 0 seconds")
	}
	for i := range v.Slots {
		n := d.uint()
		if n > math.MaxUint16 {
			d.fail("a slot that counts %d", n)
		}
		v.Slots[i] = uint16(n)
	}
	parts := d.uint()
	if parts > maxParts {
		d.fail("parts of %d nodes", parts)
		return
	}
	for range parts {
		v.Split = append(v.Split, edgeguard.Part{Node: d.text(), Count: d.uint32()})
	}
}
