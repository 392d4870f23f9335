package replay

import (
	"cmp"
	"net/netip"
	"slices"

	"edgeguard"
)

// rows are the offenders of all rules, up to a bound. When it is reached, those
// with the fewest refused events are dropped, a part at a time. A row that has
// crossed since the last time is kept once more, to show what it is.
type rows struct {
	most    int // 0 for any number
	kept    map[rowKey]*row
	counts  map[countKey]*count
	dropped uint64
	clears  uint64 // how often counts were deleted: until the next, a *count stays

	crossings, made uint64          // so far, and when room was made last
	gone            [classes]sketch // the keys of those that were dropped, by class
	seed            sketchSeed
}

// rowKey is a key as the tables name it, so that its peak can be found.
type rowKey struct {
	rule   int
	prefix netip.Prefix
	with   uint64 // fingerprint of the attributes
}

type row struct {
	Offender
	count *count
	last  uint64 // its last crossing's number
}

type countKey struct {
	rule   int
	prefix netip.Prefix
}

// count is how many events of a prefix a rule refused; rows that differ only in
// their attributes share it.
type count struct {
	refused uint64
	rows    int
}

// dropPart is the part of the rows, one in so many, that is dropped in one go.
const dropPart = 4

func newRows(most int) *rows {
	return &rows{most: most, kept: make(map[rowKey]*row), counts: make(map[countKey]*count), seed: newSketchSeed()}
}

// refused counts a refused event of a prefix.
func (r *rows) refused(key countKey) { r.counting(key).refused++ }

// counting returns the count of a prefix. Counts without a row are deleted once
// they are twice as many as there may be rows. Then a row lacks what its key
// was refused before it crossed, or before it came back.
func (r *rows) counting(key countKey) *count {
	c := r.counts[key]
	if c != nil {
		return c
	}
	if r.most > 0 && len(r.counts) >= 2*r.most {
		r.clears++
		for k, c := range r.counts {
			if c.rows == 0 {
				delete(r.counts, k)
			}
		}
	}
	c = &count{}
	r.counts[key] = c
	return c
}

// rowOf returns the row of a key, a new one made of the crossing if there is none.
func (r *rows) rowOf(key rowKey, c *edgeguard.Crossing) *row {
	r.crossings++
	if o := r.kept[key]; o != nil {
		o.last = r.crossings
		return o
	}
	if r.most > 0 && len(r.kept) >= r.most {
		r.makeRoom()
	}
	o := &row{count: r.counting(countKey{key.rule, key.prefix}), last: r.crossings,
		Offender: Offender{Key: c.Key, Rule: c.Rule, First: c.Time, Count: c.Count, Limit: c.Limit, Wide: c.Wide, Fleet: c.Fleet}}
	o.count.rows++
	r.kept[key] = o
	return o
}

// makeRoom drops the rows with the fewest refused events; of equals, those
// whose last crossing is oldest.
func (r *rows) makeRoom() {
	order := make([]seen, 0, len(r.kept))
	for key, o := range r.kept {
		order = append(order, seen{fresh: o.last > r.made, refused: o.count.refused, last: o.last, key: key})
	}
	slices.SortFunc(order, seen.before)
	for i := range order[:(len(order)+dropPart-1)/dropPart] {
		r.drop(order[i].key)
	}
	r.made = r.crossings
}

// seen is a row as it is when room is made.
type seen struct {
	fresh         bool
	refused, last uint64
	key           rowKey
}

// before orders rows by which is dropped first.
func (s seen) before(t seen) int {
	if s.fresh != t.fresh {
		if t.fresh {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(s.refused, t.refused), cmp.Compare(s.last, t.last))
}

func (r *rows) drop(key rowKey) {
	o := r.kept[key]
	for class, is := range inClass {
		if is(&o.Offender) {
			r.gone[class].add(r.seed.hashKey(o.Key))
		}
	}
	o.count.rows--
	delete(r.kept, key)
	r.dropped++
}

// sorted returns the offenders of a rule in the order of their first crossing.
func (r *rows) sorted(rule int) []Offender {
	var out []Offender
	for key, o := range r.kept {
		if key.rule == rule {
			o.Refused = o.count.refused
			out = append(out, o.Offender)
		}
	}
	slices.SortFunc(out, func(x, y Offender) int {
		return cmp.Or(x.First.Compare(y.First), cmp.Compare(x.Key.String(), y.Key.String()))
	})
	return out
}
