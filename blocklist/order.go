package blocklist

import (
	"cmp"
	"iter"
	"slices"
)

// Values are kept in the order of an instant, so that the newest page of a million is read
// without a walk through all and without a sort.
//
// An [orderIndex] is a sorted list in pages. Most values come in the order of their
// instants, so that adding one is an append. One that belongs into the middle
// moves a part of one page. A heap was rejected, since it has no second page, and a
// tree, since its nodes take three times the memory.

// orderPageSize is the most items of a page: four KiB of pointers and instants.
const orderPageSize = 256

// orderIndex is values in the order of their instants, and of one instant in the order
// of tie. It is not safe for concurrent use. Make one with [newOrderIndex].
type orderIndex[T any] struct {
	tie   func(a, b T) int
	pages [][]item[T] // none is empty
	n     int
}

type item[T any] struct {
	at    int64
	value T
}

// newOrderIndex returns an empty index. Of two values of one instant, tie says which comes
// first; it is 0 for equal ones only.
func newOrderIndex[T any](tie func(a, b T) int) *orderIndex[T] { return &orderIndex[T]{tie: tie} }

// Len returns how many values there are.
func (x *orderIndex[T]) Len() int { return x.n }

// Add adds a value that is not in it.
func (x *orderIndex[T]) Add(at int64, v T) {
	x.n++
	in := item[T]{at, v}
	p := x.pageOf(in)
	if p == len(x.pages) { // after all others, as nearly always
		if p == 0 || len(x.pages[p-1]) == orderPageSize {
			x.pages = append(x.pages, []item[T]{in})
			return
		}
		x.pages[p-1] = append(x.pages[p-1], in)
		return
	}
	if len(x.pages[p]) == orderPageSize {
		x.split(p)
		if x.compare(in, last(x.pages[p])) > 0 {
			p++
		}
	}
	i, _ := x.search(x.pages[p], in)
	x.pages[p] = slices.Insert(x.pages[p], i, in)
}

// split makes two pages of one.
func (x *orderIndex[T]) split(p int) {
	half := slices.Clone(x.pages[p][orderPageSize/2:])
	clear(x.pages[p][orderPageSize/2:]) // or the values could not be freed
	x.pages[p] = x.pages[p][:orderPageSize/2]
	x.pages = slices.Insert(x.pages, p+1, half)
}

// Remove takes out a value, and reports whether it was there.
func (x *orderIndex[T]) Remove(at int64, v T) bool {
	in := item[T]{at, v}
	p := x.pageOf(in)
	if p == len(x.pages) {
		return false
	}
	i, found := x.search(x.pages[p], in)
	if !found {
		return false
	}
	x.n--
	x.pages[p] = slices.Delete(x.pages[p], i, i+1)
	x.tidy(p)
	return true
}

// tidy removes a page that is empty, and joins one that is sparse with the next.
func (x *orderIndex[T]) tidy(p int) {
	switch {
	case len(x.pages[p]) == 0:
		x.pages = slices.Delete(x.pages, p, p+1)
	case p+1 < len(x.pages) && len(x.pages[p])+len(x.pages[p+1]) <= orderPageSize/2:
		x.pages[p] = append(x.pages[p], x.pages[p+1]...)
		x.pages = slices.Delete(x.pages, p+1, p+2)
	}
}

// All returns the values, the newest first.
func (x *orderIndex[T]) All() iter.Seq[T] { return x.down(len(x.pages)-1, orderPageSize) }

// Before returns the values that come before one, which need not be in it, the
// newest first. The index must not change meanwhile.
func (x *orderIndex[T]) Before(at int64, v T) iter.Seq[T] {
	in := item[T]{at, v}
	p := x.pageOf(in)
	if p == len(x.pages) {
		return x.All()
	}
	i, _ := x.search(x.pages[p], in)
	return x.down(p, i)
}

// down returns the values of a page before its i-th, and of the pages before it.
func (x *orderIndex[T]) down(p, i int) iter.Seq[T] {
	return func(yield func(T) bool) {
		for ; p >= 0; p-- {
			page := x.pages[p]
			for _, one := range slices.Backward(page[:min(i, len(page))]) {
				if !yield(one.value) {
					return
				}
			}
			i = orderPageSize
		}
	}
}

// pageOf returns the first page that ends with the item or after it, or the number
// of pages.
func (x *orderIndex[T]) pageOf(in item[T]) int {
	if n := len(x.pages); n == 0 || x.compare(in, last(x.pages[n-1])) > 0 {
		return n
	}
	p, _ := slices.BinarySearchFunc(x.pages, in, func(page []item[T], in item[T]) int { return x.compare(last(page), in) })
	return p
}

func (x *orderIndex[T]) search(page []item[T], in item[T]) (i int, found bool) {
	return slices.BinarySearchFunc(page, in, x.compare)
}

func (x *orderIndex[T]) compare(a, b item[T]) int {
	if by := cmp.Compare(a.at, b.at); by != 0 {
		return by
	}
	return x.tie(a.value, b.value)
}

func last[T any](page []item[T]) item[T] { return page[len(page)-1] }
