package blocklist

import "sync/atomic"

// directory finds a hash's page by its first bits. A page that shares fewer
// bits than the directory tells apart stands in it several times, side by
// side.
type directory struct {
	depth int // bits; there are 1<<depth pages
	pages []atomic.Pointer[page]
}

func newDirectory(depth int) *directory {
	return &directory{depth: depth, pages: make([]atomic.Pointer[page], 1<<depth)}
}

// at returns the place of a hash's page. (A shift by 64 gives 0.)
func (d *directory) at(h hash) int { return int(h >> (64 - uint(d.depth))) }

func (d *directory) pageOf(h hash) *page { return d.pages[d.at(h)].Load() }

// doubled returns a directory that distinguishes one bit more.
func (d *directory) doubled() *directory {
	next := newDirectory(d.depth + 1)
	for i := range next.pages {
		next.pages[i].Store(d.pages[i/2].Load())
	}
	return next
}

// setPage puts a page at all its places; h is any hash that belongs to it.
func (d *directory) setPage(h hash, p *page) {
	span := 1 << (d.depth - p.depth)
	first := d.at(h) &^ (span - 1)
	for i := range span {
		d.pages[first+i].Store(p)
	}
}
