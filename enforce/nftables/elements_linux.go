package nftables

import (
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/google/nftables"

	"edgeguard/enforce"
)

const (
	// chunk is how many elements one message holds: their list is one attribute, of at
	// most 64 KiB.
	chunk = 1000
	// tolerance is by how much an element's end may differ from its entry's, and from the
	// time when it is gone: reading takes time, and the kernel rounds up.
	tolerance = 2 * time.Second
)

// difference is what a transaction changes.
type difference struct {
	// added are not installed. changed may be, and are taken out first: before
	// Linux 6.12, an element that is there keeps its end.
	added, changed []enforce.Entry
	removed        []netip.Prefix
}

// write adds the changes to c.
func (d *difference) write(c *nftables.Conn, l layout, now time.Time) error {
	out := make(map[length][]nftables.SetElement)
	for _, p := range d.removed {
		if slices.Contains(l.lengths, lengthOf(p)) { // or it has no set to be in
			out[lengthOf(p)] = append(out[lengthOf(p)], nftables.SetElement{Key: p.Addr().AsSlice()})
		}
	}
	in := make(map[length][]nftables.SetElement)
	for _, entry := range d.added {
		in[lengthOf(entry.Prefix)] = append(in[lengthOf(entry.Prefix)], element(entry, now))
	}
	for _, entry := range d.changed {
		out[lengthOf(entry.Prefix)] = append(out[lengthOf(entry.Prefix)], nftables.SetElement{Key: entry.Prefix.Addr().AsSlice()})
		in[lengthOf(entry.Prefix)] = append(in[lengthOf(entry.Prefix)], element(entry, now))
	}
	for _, of := range slices.SortedFunc(maps.Keys(out), length.compare) {
		if err := takeOut(c, l.namedSet(of.setName(), of.v6), out[of]); err != nil {
			return err
		}
	}
	for _, of := range slices.SortedFunc(maps.Keys(in), length.compare) {
		set := l.namedSet(of.setName(), of.v6)
		if err := inChunks(in[of], func(part []nftables.SetElement) error { return c.SetAddElements(set, part) }); err != nil {
			return err
		}
	}
	return nil
}

// takeOut deletes elements whether they are there or not: the kernel refuses to delete
// one that is not, with all of the transaction, and any may have just ended.
func takeOut(c *nftables.Conn, set *nftables.Set, elements []nftables.SetElement) error {
	return inChunks(elements, func(part []nftables.SetElement) error {
		if err := c.SetAddElements(set, part); err != nil {
			return err
		}
		return c.SetDeleteElements(set, part)
	})
}

func inChunks(elements []nftables.SetElement, do func([]nftables.SetElement) error) error {
	for part := range slices.Chunk(elements, chunk) {
		if err := do(part); err != nil {
			return err
		}
	}
	return nil
}

// element returns an entry as the kernel holds it. Its time is at least a millisecond,
// because 0 would be for ever.
func element(entry enforce.Entry, now time.Time) nftables.SetElement {
	rest := max(entry.Until.Sub(now), time.Millisecond)
	return nftables.SetElement{Key: entry.Prefix.Addr().AsSlice(), Timeout: rest}
}

// noteInstalled writes the changes into what is installed.
func (d *difference) noteInstalled(in map[netip.Prefix]time.Duration, now time.Time, clock time.Duration) {
	for _, p := range d.removed {
		delete(in, p)
	}
	for _, all := range [][]enforce.Entry{d.added, d.changed} {
		for _, entry := range all {
			in[entry.Prefix] = clock + entry.Until.Sub(now)
		}
	}
}
