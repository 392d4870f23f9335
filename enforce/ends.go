package enforce

import (
	"container/heap"
	"net/netip"
	"time"
)

// Ends are prefixes in the order of their ends, for an enforcer that ends its entries by
// itself. One whose end has changed is in it more than once.
type Ends []end

type end struct {
	until  time.Time
	prefix netip.Prefix
}

// PushEnd adds an end.
func (e *Ends) PushEnd(until time.Time, p netip.Prefix) { heap.Push((*order)(e), end{until, p}) }

// PopOver returns the first that is over at now.
func (e *Ends) PopOver(now time.Time) (p netip.Prefix, until time.Time, ok bool) {
	if len(*e) == 0 || (*e)[0].until.After(now) {
		return netip.Prefix{}, time.Time{}, false
	}
	first := heap.Pop((*order)(e)).(end)
	return first.prefix, first.until, true
}

// Soonest returns the earliest end; none if nothing is to end.
func (e *Ends) Soonest() (until time.Time, ok bool) {
	if len(*e) == 0 {
		return time.Time{}, false
	}
	return (*e)[0].until, true
}

// Rebuild makes the ends again, if most are of the past.
func (e *Ends) Rebuild(set map[netip.Prefix]time.Time) {
	if len(*e) > 2*len(set)+1000 {
		e.Fill(set)
	}
}

// Fill makes the ends those of a set.
func (e *Ends) Fill(set map[netip.Prefix]time.Time) {
	*e = (*e)[:0]
	for p, until := range set {
		*e = append(*e, end{until, p})
	}
	heap.Init((*order)(e))
}

// order is Ends for package heap.
type order Ends

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
