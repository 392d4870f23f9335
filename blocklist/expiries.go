package blocklist

// pageSize is how many entries of the heap lie together.
const pageSize = 4096

// expiries is a binary min-heap of entries by due time, with each entry's
// place kept in it, so that one can be taken out from the middle: a prefix
// that is blocked again and again has one place and not many stale ones.
//
// It lies in pages, because appending to one slice of a million pointers now
// and then copies it whole, and a Merge would wait for that. (A pairing heap
// does not copy, but its first removal after a million pushes visits them
// all.) The zero value is ready; not safe for concurrent use.
type expiries struct {
	pages []*[pageSize]*entry
	n     int
}

func (h *expiries) at(i int) *entry { return h.pages[i/pageSize][i%pageSize] }

func (h *expiries) set(i int, e *entry) {
	h.pages[i/pageSize][i%pageSize] = e
	e.place = int32(i)
}

// nextDue is the entry that is due next, nil if there is none.
func (h *expiries) nextDue() *entry {
	if h.n == 0 {
		return nil
	}
	return h.at(0)
}

func (h *expiries) pushEntry(e *entry) {
	if h.n == len(h.pages)*pageSize {
		h.pages = append(h.pages, new([pageSize]*entry))
	}
	h.set(h.n, e)
	h.n++
	h.up(int(e.place))
}

// remove takes out an entry that is in the heap.
func (h *expiries) remove(e *entry) {
	i := int(e.place)
	h.n--
	last := h.at(h.n)
	h.pages[h.n/pageSize][h.n%pageSize] = nil
	if last != e {
		h.set(i, last)
		h.up(i)
		h.down(int(last.place))
	}
	// One spare page stays, so that a list at a page's edge does not allocate
	// at every change.
	if spare := h.n/pageSize + 2; spare < len(h.pages) {
		h.pages[spare] = nil
		h.pages = h.pages[:spare]
	}
}

func (h *expiries) up(i int) {
	e := h.at(i)
	for i > 0 {
		parent := (i - 1) / 2
		if h.at(parent).due <= e.due {
			break
		}
		h.set(i, h.at(parent))
		i = parent
	}
	h.set(i, e)
}

func (h *expiries) down(i int) {
	e := h.at(i)
	for {
		child := 2*i + 1
		if child >= h.n {
			break
		}
		if right := child + 1; right < h.n && h.at(right).due < h.at(child).due {
			child = right
		}
		if e.due <= h.at(child).due {
			break
		}
		h.set(i, h.at(child))
		i = child
	}
	h.set(i, e)
}
