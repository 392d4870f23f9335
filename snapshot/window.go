package snapshot

import (
	"net/netip"

	"edgeguard/ring"
)

// Window is one key's counts.
type Window struct {
	// Prefix is the key's address, masked and unmapped.
	Prefix netip.Prefix
	// With is the fingerprint of the key's attributes, 0 if it has none.
	With uint64
	// Head is the newest slot; Counts are the slots Head-59 to Head, slot s at
	// s % ring.Slots, so that ring.New(Head, Counts) is the window.
	Head   uint32
	Counts ring.Counts
}

// window writes the slots that are not empty, newest first: how much older
// than the one before each is, and its count. Most keys have one or two.
func (e *encoder) window(w *Window, shift int64) {
	var live [ring.Slots]uint8
	n := 0
	for age := uint32(0); age < ring.Slots && age <= w.Head; age++ {
		if w.Counts[(w.Head-age)%ring.Slots] > 0 {
			live[n] = uint8(age)
			n++
		}
	}
	if n == 0 {
		return
	}
	e.prefix(w.Prefix, w.With != 0)
	if w.With != 0 {
		e.fixed64(w.With)
	}
	e.uint(uint64(clampSlot(int64(w.Head) + shift)))
	e.uint(uint64(n))
	last := uint8(0)
	for _, age := range live[:n] {
		e.uint(uint64(age - last))
		e.uint(uint64(w.Counts[(w.Head-uint32(age))%ring.Slots]))
		last = age
	}
}

func (d *decoder) window(w *Window) {
	var with bool
	w.Prefix, with = d.prefix()
	w.With = 0
	if with {
		if w.With = d.fixed64(); w.With == 0 {
			d.fail("attributes with the fingerprint 0")
		}
	}
	w.Head = d.uint32()
	w.Counts = ring.Counts{}
	n := d.uint()
	if n == 0 || n > ring.Slots {
		d.fail("a window of %d slots", n)
	}
	age := uint64(0)
	for i := uint64(0); i < n && d.err == nil; i++ {
		older := d.uint()
		if age += older; older == 0 && i > 0 || older >= ring.Slots || age >= ring.Slots || age > uint64(w.Head) {
			d.fail("a slot outside of its window, or twice")
			return
		}
		count := d.uint()
		if count == 0 || count > ring.Max {
			d.fail("a slot that counts %d", count)
			return
		}
		w.Counts[(w.Head-uint32(age))%ring.Slots] = uint16(count)
	}
}

// settle makes the window one that ends at now: slots that have left it are
// dropped, and what lies ahead, after a small step back of the clock, counts
// now. It reports whether there were counts ahead, and whether anything is left.
func (w *Window) settle(now uint32) (moved, left bool) {
	var ahead uint32
	if w.Head > now {
		for i := range min(w.Head-now, ring.Slots) {
			at := &w.Counts[(w.Head-i)%ring.Slots]
			ahead += uint32(*at)
			*at = 0
		}
		w.Head = now
		w.Counts.Add(now, uint16(min(ahead, ring.Max)))
	}
	w.Counts.Advance(w.Head, now)
	w.Head = now
	return ahead > 0, w.Counts.Sum() > 0
}
