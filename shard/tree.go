package shard

// plant moves the marks of an entry that are two into a block, with a third. Where no
// block is to be had, the two that were seen last stay.
func (f *half) plant(s *shard, p *page, e *entry, m mark) (added uint16) {
	r := f.takeBlock(s, p, e)
	c := e.marked()
	if r == 0 {
		s.undercounted++
		oldest := &c.marks[0]
		if c.marks[1].slotsBefore(c.head) > oldest.slotsBefore(c.head) {
			oldest = &c.marks[1]
		}
		return oldest.setSight(m, c.head) // of another value: the count stays as it is
	}
	s.promoted++
	b := f.mem.block(r)
	n := copy(b[:], c.marks[:])
	b[n] = m
	*e.asWarm() = warmEntry{head: c.head, form: tree, heat: c.heat, sum: uint32(n) + 1, ring: r}
	return 1
}

// takeBlock returns a block for the marks of e, from a cooler key of the page if there is
// no free one; 0 if there is none.
func (f *half) takeBlock(s *shard, p *page, e *entry) ref {
	r := f.mem.takeRing()
	if r == 0 && f.fell(s, p, e) {
		r = f.mem.takeRing()
	}
	if r != 0 {
		s.rings++
	}
	return r
}

// fell frees the blocks of the coolest tree of the page that is cooler than by will be.
// Its key keeps the two values that were seen last.
func (f *half) fell(s *shard, p *page, by *entry) bool {
	var victim *entry
	heat := f.heatOf(by, by.head) + 1
	for e := range f.layout.entriesOf(p) {
		if e.form == tree && e != by {
			if x := f.heatOf(e, by.head); x < heat {
				victim, heat = e, x
			}
		}
	}
	if victim == nil {
		return false
	}
	f.uproot(s, victim)
	s.undercounted++
	return true
}

// nextLeaves returns how many leaves a tree has that outgrew so many; 0 for none.
func nextLeaves(leaves uint16) uint16 {
	switch leaves {
	case 0:
		return 2
	case 8:
		return 15
	case marksInBlock:
		return 0
	}
	return 2 * leaves
}

// growTree gives the tree of e more leaves; false if it has all, or there is no memory
// for them.
func (f *half) growTree(s *shard, p *page, e *entry) bool {
	w := e.asWarm()
	leaves := nextLeaves(w.last)
	if leaves == 0 {
		return false
	}
	var fresh index
	n := 0
	for want := int(max(leaves-w.last, 2)); n < want; n++ { // a first block is a leaf of two; the index is the other
		if fresh[n] = f.takeBlock(s, p, e); fresh[n] == 0 {
			f.giveBlocks(s, fresh[:n])
			s.undercounted++
			return false
		}
	}
	var room [marksInBlock * marksInBlock]mark
	marks := f.gather(w, room[:0])
	if w.last == 0 {
		at := f.mem.index(fresh[0])
		at[0], at[1] = w.ring, fresh[1]
		w.ring = fresh[0]
	} else {
		copy(f.mem.index(w.ring)[w.last:], fresh[:n])
	}
	w.last = leaves
	f.spread(w, marks)
	return true
}

// gather appends the marks of a tree to dst and clears them.
func (f *half) gather(w *warmEntry, dst []mark) []mark {
	f.eachMarkBlock(w, func(marks []mark) {
		dst = append(dst, marks...)
		clear(marks)
	})
	return dst
}

// spread puts marks into the empty leaves of a tree. One whose leaf is full is lost.
func (f *half) spread(w *warmEntry, marks []mark) {
	w.sum = 0
	for _, m := range marks {
		b := f.marksAmong(w, m)
		if at := place(b[:], m); at < marksInBlock {
			b[at] = m
			w.sum++
		}
	}
}

// coolTree gives blocks back that the values of the window that ends at now do not need.
func (f *half) coolTree(s *shard, e *entry, now uint32) {
	f.advanceMarks(e, max(now, e.head))
	w := e.asWarm()
	switch {
	case w.sum <= marksInEntry:
		f.uproot(s, e)
	case w.last > 0 && w.sum <= marksInBlock/2:
		var room [marksInBlock * marksInBlock]mark
		marks := f.gather(w, room[:0])
		at := f.mem.index(w.ring)
		first, rest := at[0], at[1:w.last]
		f.giveBlocks(s, rest)
		f.giveBlocks(s, []ref{w.ring})
		w.ring, w.last = first, 0
		f.spread(w, marks)
	}
}

// uproot turns a tree into an entry with the two values that were seen last.
func (f *half) uproot(s *shard, e *entry) {
	w := e.asWarm()
	c := markEntry{head: w.head, form: cold, heat: w.heat}
	f.eachMarkBlock(w, func(marks []mark) {
		for _, m := range marks {
			c.put(m)
		}
	})
	f.releaseTree(s, w)
	*e.marked() = c
}

// put keeps m if it is one of the two that were seen last.
func (c *markEntry) put(m mark) {
	if c.marks[0] == 0 || m.slotsBefore(c.head) < c.marks[0].slotsBefore(c.head) {
		m, c.marks[0] = c.marks[0], m
	}
	if m != 0 && (c.marks[1] == 0 || m.slotsBefore(c.head) < c.marks[1].slotsBefore(c.head)) {
		c.marks[1] = m
	}
}

// releaseTree frees the blocks of a tree.
func (f *half) releaseTree(s *shard, w *warmEntry) {
	if w.last > 0 {
		f.giveBlocks(s, f.mem.index(w.ring)[:w.last])
	}
	f.giveBlocks(s, []ref{w.ring})
}

func (f *half) giveBlocks(s *shard, refs []ref) {
	for _, r := range refs {
		f.mem.giveRing(r)
	}
	s.rings -= uint32(len(refs))
}
