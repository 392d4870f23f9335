package tuning

import (
	"cmp"
	"container/heap"
	"slices"
	"strings"

	"edgeguard"
)

// Peak is a key and the greatest count it had.
type Peak struct {
	Key  edgeguard.Key
	Peak uint32
}

// compare orders by peak, highest first, and equal peaks by key, so that the
// same input always gives the same list.
func (p Peak) compare(q Peak) int {
	return cmp.Or(
		cmp.Compare(q.Peak, p.Peak),
		p.Key.Prefix.Compare(q.Key.Prefix),
		strings.Compare(p.Key.With, q.Key.With),
	)
}

// Top keeps the k highest of any number of peaks. Make one with [newTop].
type Top struct {
	k     int
	peaks peakHeap
}

// newTop makes an empty top of k keys; k is at least 1.
func newTop(k int) *Top { return &Top{k: max(k, 1)} }

// Add offers a peak. Most are turned away after one comparison.
func (t *Top) Add(p Peak) {
	if len(t.peaks) < t.k {
		heap.Push(&t.peaks, p)
		return
	}
	if p.compare(t.peaks[0]) < 0 {
		t.peaks[0] = p
		heap.Fix(&t.peaks, 0)
	}
}

// takes reports whether a key with this peak may be among the highest.
func (t *Top) takes(peak uint32) bool { return len(t.peaks) < t.k || peak >= t.peaks[0].Peak }

// Sorted returns the peaks kept, highest first; equal ones in the order of
// their keys.
func (t *Top) Sorted() []Peak {
	sorted := slices.Clone(t.peaks)
	slices.SortFunc(sorted, Peak.compare)
	return sorted
}

// complete reports whether every peak above n is certainly kept.
func (t *Top) complete(n uint32) bool {
	return len(t.peaks) < t.k || t.peaks[0].Peak <= n
}

// above is how many of the peaks kept are greater than n.
func (t *Top) above(n uint32) (count uint64) {
	for _, p := range t.peaks {
		if p.Peak > n {
			count++
		}
	}
	return count
}

// excess is the sum of what the peaks kept have above n.
func (t *Top) excess(n uint32) (sum uint64) {
	for _, p := range t.peaks {
		sum += uint64(p.Peak - min(p.Peak, n))
	}
	return sum
}

// peakHeap has the peak that goes next on top.
type peakHeap []Peak

func (h peakHeap) Len() int           { return len(h) }
func (h peakHeap) Less(i, j int) bool { return h[i].compare(h[j]) > 0 }
func (h peakHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *peakHeap) Push(x any)        { *h = append(*h, x.(Peak)) }

func (h *peakHeap) Pop() any {
	last := len(*h) - 1
	p := (*h)[last]
	*h = (*h)[:last]
	return p
}
