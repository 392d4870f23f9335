package lapi

import (
	"container/heap"
	"net/netip"
	"time"
)

// step is how much two ends must differ to be a change: bouncers are told whole seconds.
const step = int64(time.Second)

// key is a prefix in 18 bytes: a netip.Prefix has 32.
type key struct {
	addr [16]byte
	bits uint8
	v6   bool
}

func keyOf(p netip.Prefix) key {
	return key{addr: p.Addr().As16(), bits: uint8(p.Bits()), v6: p.Addr().Is6()}
}

func (k key) prefix() netip.Prefix {
	addr := netip.AddrFrom16(k.addr)
	if !k.v6 {
		addr = addr.Unmap()
	}
	return netip.PrefixFrom(addr, int(k.bits))
}

// family is 0 for IPv4 and 1 for IPv6.
func (k key) family() int {
	if k.v6 {
		return 1
	}
	return 0
}

// entry is one prefix.
type entry struct {
	key                        key
	live, proxied, again, open bool
	seat                       int32  // its place in its queue, -1 for none
	round                      uint32 // of the last Replace that had it
	id, seq                    uint64
	until                      int64 // in nanoseconds of Unix time
	latest                     int64 // of all its ends: a bouncer may have it until then
	due                        int64 // when its queue has to act on it
	rule                       string
}

// differs reports whether a decision is another than a live entry has.
func (e *entry) differs(d *Decision) bool {
	off := d.Until.UnixNano() - e.until
	return !e.live || e.proxied != d.Proxied || off >= step || off <= -step
}

func (e *entry) change() Change {
	return Change{
		Decision: Decision{Prefix: e.key.prefix(), Rule: e.rule, Until: time.Unix(0, e.until), Proxied: e.proxied},
		Seq:      e.seq, ID: e.id, Live: e.live, Again: e.again, Open: e.open,
	}
}

// pageSize is how many entries a page has. Pages never move, so that a journal that
// grows needs no copy of itself.
const pageSize = 1024

// pages is entries by their places.
type pages struct {
	all []*[pageSize]entry
	n   int32
}

func (p *pages) entryAt(place int32) *entry { return &p.all[place/pageSize][place%pageSize] }

// newEntry returns the place of a new entry.
func (p *pages) newEntry() int32 {
	if int(p.n) == len(p.all)*pageSize {
		p.all = append(p.all, new([pageSize]entry))
	}
	p.n++
	return p.n - 1
}

// queue is entries in the order of their due.
type queue struct {
	of     *pages
	places []int32
}

// firstDue returns the first entry, if it is due.
func (q *queue) firstDue(at int64) (place int32, ok bool) {
	if len(q.places) == 0 || q.of.entryAt(q.places[0]).due > at {
		return 0, false
	}
	return q.places[0], true
}

func (q *queue) push(place int32)         { heap.Push((*order)(q), place) }
func (q *queue) restoreOrder(place int32) { heap.Fix((*order)(q), int(q.of.entryAt(place).seat)) }

// remove takes an entry out, if it is in the queue.
func (q *queue) remove(place int32) {
	if seat := q.of.entryAt(place).seat; seat >= 0 {
		heap.Remove((*order)(q), int(seat))
	}
}

// order is a queue for package heap.
type order queue

func (o *order) entry(i int) *entry { return o.of.entryAt(o.places[i]) }
func (o *order) Len() int           { return len(o.places) }
func (o *order) Less(i, j int) bool { return o.entry(i).due < o.entry(j).due }

func (o *order) Swap(i, j int) {
	o.places[i], o.places[j] = o.places[j], o.places[i]
	o.entry(i).seat, o.entry(j).seat = int32(i), int32(j)
}

func (o *order) Push(x any) {
	o.places = append(o.places, x.(int32))
	o.entry(len(o.places) - 1).seat = int32(len(o.places) - 1)
}

func (o *order) Pop() any {
	last := len(o.places) - 1
	place := o.places[last]
	o.of.entryAt(place).seat = -1
	o.places = o.places[:last]
	return place
}
