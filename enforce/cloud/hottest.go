package cloud

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"edgeguard/enforce"
)

// Rank returns how many requests were refused because of a block, and when the last
// one was, or the block was made.
type Rank func(p netip.Prefix) (refusals uint32, last time.Time)

// ranked is a prefix with its rank.
type ranked struct {
	prefix   netip.Prefix
	refusals uint32
	last     time.Time
}

// hottest returns at most so many of the prefixes that a list can hold, sorted, and how
// many entries are not in force by them. What was refused most often comes first, then
// what is newest. A prefix inside another one needs no place.
//
// The refusals are those since the block was made, and not of the last minutes: what the
// cloud refuses never arrives here, so that a block would lose its place by being there.
func hottest(entries []enforce.Entry, most int, holds func(netip.Prefix) bool, rank Rank) (kept []netip.Prefix, left int) {
	var all []ranked
	var inside []int // of each of all: the entries in it
	for _, e := range entries {
		if !holds(e.Prefix) {
			left++
			continue
		}
		r := ranked{prefix: e.Prefix}
		r.refusals, r.last = rank(e.Prefix)
		if n := len(all); n > 0 && all[n-1].prefix.Contains(e.Prefix.Addr()) {
			all[n-1].refusals, inside[n-1] = max(all[n-1].refusals, r.refusals), inside[n-1]+1
			continue
		}
		all, inside = append(all, r), append(inside, 1)
	}
	places := make([]int, len(all))
	for i := range places {
		places[i] = i
	}
	if len(all) > most {
		slices.SortFunc(places, func(a, b int) int {
			return cmp.Or(cmp.Compare(all[b].refusals, all[a].refusals), all[b].last.Compare(all[a].last), a-b)
		})
		for _, i := range places[most:] {
			left += inside[i]
		}
		places = places[:most]
		slices.Sort(places)
	}
	for _, i := range places {
		kept = append(kept, all[i].prefix)
	}
	return kept, left
}

// covered reports whether a prefix lies inside one of a list as [hottest] returns it.
func covered(list []netip.Prefix, p netip.Prefix) bool {
	i, found := slices.BinarySearchFunc(list, p, func(have, p netip.Prefix) int {
		return cmp.Or(have.Addr().Compare(p.Addr()), have.Bits()-p.Bits())
	})
	if found {
		return true
	}
	return i > 0 && list[i-1].Bits() <= p.Bits() && list[i-1].Contains(p.Addr())
}
