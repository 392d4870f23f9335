package evidence

import (
	"cmp"
	"net/netip"
	"slices"
)

// reading is what was worked out of a book since the last event.
type reading struct {
	all      []*Record // those with the most requests first
	networks map[netip.Prefix][]*Record
	robots   map[netip.Prefix]bool // networks that asked for robots.txt
	judged   map[netip.Prefix]Judgement
	people   int // that look benign; -1 until they are counted
}

// reading returns the book in order. It is valid until the next event.
func (b *Book) reading() *reading {
	if b.read != nil {
		return b.read
	}
	r := &reading{people: -1, networks: make(map[netip.Prefix][]*Record), robots: make(map[netip.Prefix]bool), judged: make(map[netip.Prefix]Judgement)}
	for _, record := range b.records {
		r.all = append(r.all, record)
	}
	slices.SortFunc(r.all, func(x, y *Record) int {
		return cmp.Or(cmp.Compare(y.Requests, x.Requests), y.Last.Compare(x.Last), x.Prefix.Compare(y.Prefix))
	})
	for _, record := range r.all {
		in := network(record.Prefix)
		r.networks[in] = append(r.networks[in], record)
		r.robots[in] = r.robots[in] || record.Robots
	}
	b.read = r
	return r
}
