package rules

import (
	"fmt"
	"slices"
	"strings"
)

// span is a run of numbers, both ends included.
type span struct{ low, high uint16 }

// ranges is a set of numbers: ascending spans that neither touch nor overlap.
// nil is the term that was not given, which every number satisfies.
type ranges []span

// newRanges makes a set of spans in any order.
func newRanges(spans []span) ranges {
	sorted := slices.Clone(spans)
	slices.SortFunc(sorted, func(a, b span) int { return int(a.low) - int(b.low) })
	set := ranges{}
	for _, s := range sorted {
		if last := len(set) - 1; last >= 0 && int(s.low) <= int(set[last].high)+1 {
			set[last].high = max(set[last].high, s.high)
		} else {
			set = append(set, s)
		}
	}
	return set
}

// without returns the numbers of r that are not in out. The negated half of a
// term is so folded into the term, and costs nothing when it is matched.
func (r ranges) without(out ranges) ranges {
	if r == nil {
		r = ranges{{0, 65535}}
	}
	set := ranges{}
	for _, s := range r {
		low := int(s.low)
		for _, hole := range out {
			if hole.high < s.low || hole.low > s.high {
				continue
			}
			if int(hole.low) > low {
				set = append(set, span{uint16(low), hole.low - 1})
			}
			low = int(hole.high) + 1
		}
		if low <= int(s.high) {
			set = append(set, span{uint16(low), s.high})
		}
	}
	return set
}

// has reports whether n is in the set. Sets are of one to three spans, so it
// looks at one after the other.
func (r ranges) has(n uint16) bool {
	if len(r) == 0 { // nearly always
		return r == nil
	}
	for _, s := range r {
		if n <= s.high {
			return n >= s.low
		}
	}
	return false
}

// String returns "403-404,410".
func (r ranges) String() string {
	parts := make([]string, len(r))
	for i, s := range r {
		if parts[i] = fmt.Sprint(s.low); s.high > s.low {
			parts[i] += fmt.Sprintf("-%d", s.high)
		}
	}
	return strings.Join(parts, ",")
}
