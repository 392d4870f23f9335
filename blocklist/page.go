package blocklist

// pageBuckets is how many buckets a page has. A page of 16 KiB keeps the
// directory of a million blocks at about 8 KiB, which stays in the nearest
// cache, and lays at most pageFull entries out again when it splits.
const (
	pageBuckets = 256
	pageFull    = pageBuckets * 5 // of seven slots: there, one bucket in eight has sent an entry on
	pageSparse  = pageFull / 4    // two neighbours that hold less than this together become one
)

// page is a hash table of one size: open addressing by buckets (Knuth, The Art
// of Computer Programming 3, 6.4). Readers ask it while the one writer
// changes it; a page that was split or joined is left as it was for those who
// are still in it.
type page struct {
	buckets [pageBuckets]bucket
	n       int // entries; the writer's
	depth   int // how many of a hash's first bits its entries share; never changes
}

// findEntry returns the entry of exactly this network and its place; nil if there is
// none.
func (p *page) findEntry(h hash, n network, length uint8) (e *entry, b *bucket, slot int) {
	i, tag := h.bucket(), h.slotTag()
	for range pageBuckets {
		b = &p.buckets[i%pageBuckets]
		tags := b.tags.Load()
		if e, slot = b.findSlot(tags, tag, n, length); e != nil {
			return e, b, slot
		}
		if tags < passOne {
			break
		}
		i++
	}
	return nil, nil, 0
}

// addEntry puts an entry of a network that is not in it into the first bucket with
// room. The page must not be full.
func (p *page) addEntry(h hash, e *entry) {
	i := h.bucket()
	for ; !p.buckets[i%pageBuckets].putEntry(e, h.slotTag()); i++ {
		p.buckets[i%pageBuckets].passOn()
	}
	p.n++
}

// remove clears a place that find gave.
func (p *page) remove(h hash, b *bucket, slot int) {
	b.clear(slot)
	for i := h.bucket(); &p.buckets[i%pageBuckets] != b; i++ {
		p.buckets[i%pageBuckets].passBack()
	}
	p.n--
}

// entries calls do with each.
func (p *page) entries(do func(*entry)) {
	for i := range p.buckets {
		for slot := range slots {
			if e := p.buckets[i].entries[slot].Load(); e != nil {
				do(e)
			}
		}
	}
}
