package status

import (
	"cmp"
	"slices"

	"edgeguard/admin"
)

// leaders keeps the keys that are nearest to their limits, or furthest above.
type leaders struct {
	most int
	keys []admin.KeyCount
	// last is the last one of as many as are kept, once there were more.
	last *admin.KeyCount
}

// nearness orders keys, the nearest first, and equal ones by their names.
func nearness(a, b admin.KeyCount) int {
	return cmp.Or(
		cmp.Compare(uint64(b.Count)*uint64(a.Limit), uint64(a.Count)*uint64(b.Limit)),
		cmp.Compare(b.Count, a.Count),
		a.Key.Prefix.Compare(b.Key.Prefix),
		cmp.Compare(a.Rule, b.Rule),
	)
}

// takes reports whether a key that counts so much may be among the leaders.
func (l *leaders) takes(count, limit uint32) bool {
	return l.last == nil || uint64(count)*uint64(l.last.Limit) >= uint64(l.last.Count)*uint64(limit)
}

// add takes a key if it is among the leaders so far. Room for twice as many
// is sorted at a time, so that adding one costs a comparison or two, and of ten
// million keys few are added at all.
func (l *leaders) add(k admin.KeyCount) {
	if l.most <= 0 || l.last != nil && nearness(k, *l.last) > 0 {
		return
	}
	l.keys = append(l.keys, k)
	if len(l.keys) >= 2*l.most+64 {
		l.keys = l.sorted()
		last := l.keys[l.most-1]
		l.last = &last
	}
}

func (l *leaders) sorted() []admin.KeyCount {
	slices.SortFunc(l.keys, nearness)
	return l.keys[:min(len(l.keys), max(l.most, 0))]
}
