package attack

import (
	"cmp"
	"slices"
	"time"
)

// crowding is what is known of a run of a key without an address.
type crowding struct {
	with        string
	most, limit uint32 // the greatest count that a crossing of this node had, and its limit
	others      []NodeCount
}

// join returns what is known of both; either may be nil.
func (c *crowding) join(o *crowding) *crowding {
	switch {
	case o == nil:
		return c
	case c == nil:
		both := *o
		return &both
	case o.most > c.most:
		c.most, c.limit = o.most, o.limit
	}
	c.others = slices.Concat(c.others, o.others)
	return c
}

// hear notes the count of another node.
func (c *crowding) hear(node string, count uint32) {
	if n := len(c.others); n > 0 && c.others[n-1].Node == node {
		c.others[n-1].Count = max(c.others[n-1].Count, count)
		return
	}
	c.others = append(c.others, NodeCount{node, count})
}

// forget removes a place.
func (b *Book) forget(at place) {
	delete(b.runs, at)
	if at.everybody {
		b.keys--
	}
}

// leaveLeast removes a key without an address: one that has ended, or else the one that is least above its limit.
func (b *Book) leaveLeast(now time.Time) {
	var least place
	var of *run
	for at, all := range b.runs {
		last := all[len(all)-1]
		if at.everybody && (of == nil || last.compareCrowd(of, now) < 0 || last.compareCrowd(of, now) == 0 && at.compare(least) < 0) {
			least, of = at, last
		}
	}
	b.count -= len(b.runs[least])
	b.forget(least)
	b.rows = nil
}

// compareCrowd orders runs of keys without an address by which leaves first.
func (r *run) compareCrowd(o *run, now time.Time) int {
	goesOn := func(r *run) bool { return r.reach >= now.Unix() }
	return cmp.Or(compareBool(goesOn(r), goesOn(o)), cmp.Compare(share(r.crowd.most, r.crowd.limit), share(o.crowd.most, o.crowd.limit)), cmp.Compare(r.last, o.last))
}
