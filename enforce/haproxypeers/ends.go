package haproxypeers

import (
	"container/heap"
	"net/netip"
	"time"
)

// ends are the prefixes in the order of their ends. One whose end has changed is in it
// more than once.
type ends []end

type end struct {
	until  time.Time
	prefix netip.Prefix
}

func (e *ends) pushEnd(until time.Time, p netip.Prefix) { heap.Push((*order)(e), end{until, p}) }

// popOver returns the first that is over at now.
func (e *ends) popOver(now time.Time) (p netip.Prefix, until time.Time, ok bool) {
	if len(*e) == 0 || (*e)[0].until.After(now) {
		return netip.Prefix{}, time.Time{}, false
	}
	first := heap.Pop((*order)(e)).(end)
	return first.prefix, first.until, true
}

// rebuild makes the ends again, if most are of the past.
func (e *ends) rebuild(set map[netip.Prefix]time.Time) {
	if len(*e) <= 2*len(set)+1000 {
		return
	}
	*e = (*e)[:0]
	for p, until := range set {
		*e = append(*e, end{until, p})
	}
	heap.Init((*order)(e))
}

// order is ends for package heap.
type order ends

func (o order) Len() int           { return len(o) }
func (o order) Less(i, j int) bool { return o[i].until.Before(o[j].until) }
func (o order) Swap(i, j int)      { o[i], o[j] = o[j], o[i] }
func (o *order) Push(x any)        { *o = append(*o, x.(end)) }
func (o *order) Pop() any {
	last := len(*o) - 1
	x := (*o)[last]
	*o = (*o)[:last]
	return x
}
