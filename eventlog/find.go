package eventlog

import (
	"bytes"
	"context"
	"io"
	"iter"
	"net/netip"
	"os"
	"slices"
	"time"
)

// Query says which entries are looked for.
type Query struct {
	Since, Until  time.Time    // Until not included; zero for no bound
	Within        netip.Prefix // a prefix of theirs overlaps it; all if it is not valid
	Rule          string
	Kinds         []string  // nil for all
	Sections      []Section // where they are looked for; nil for all
	After, Before uint64    // numbers, not included; 0 for no bound
	Newest        bool      // the newest first
}

// has reports whether an entry is looked for.
func (q *Query) has(e *Entry) bool {
	return q.between(e.Number, e.Number) && !e.Time.Before(q.Since) && (q.Until.IsZero() || e.Time.Before(q.Until)) &&
		(q.Rule == "" || e.Rule == q.Rule) && (q.Kinds == nil || slices.Contains(q.Kinds, e.Kind)) &&
		(!q.Within.IsValid() || slices.ContainsFunc(e.Prefixes, q.Within.Overlaps))
}

// between reports whether one of the numbers from first to last is looked for.
func (q *Query) between(first, last uint64) bool {
	return last > q.After && (q.Before == 0 || first < q.Before)
}

// mayHave reports whether a segment may have such an entry.
func (q *Query) mayHave(s *summary) bool {
	return s.First > 0 && q.between(s.First, s.Last) && !time.Unix(0, s.Latest).Before(q.Since) &&
		(q.Until.IsZero() || time.Unix(0, s.Earliest).Before(q.Until))
}

// Find yields what is looked for, in the order of the numbers. It ends early with ctx. What
// is removed meanwhile, or cannot be read, is left out. An entry's body is valid until the
// next one.
func (l *Log) Find(ctx context.Context, q Query) iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		q.Within = q.Within.Masked()
		l.mu.Lock()
		root := l.root
		var heads []*head
		for i := range l.sections {
			if q.Sections != nil && !slices.Contains(q.Sections, Section(i)) {
				continue
			}
			segments, tail := l.sections[i].view()
			h := &head{}
			h.next, h.stop = iter.Pull(entriesOf(ctx, root, segments, tail, &q))
			heads = append(heads, h)
		}
		l.mu.Unlock()
		for _, h := range heads {
			defer h.stop()
			h.entry, h.ok = h.next()
		}
		for {
			h := foremost(heads, q.Newest)
			if h == nil || !yield(h.entry) {
				return
			}
			h.entry, h.ok = h.next()
		}
	}
}

// head is the next entry of a section.
type head struct {
	next  func() (Entry, bool)
	stop  func()
	entry Entry
	ok    bool
}

// foremost returns the head whose entry comes next; nil if all have ended.
func foremost(heads []*head, newest bool) (first *head) {
	for _, h := range heads {
		if h.ok && (first == nil || (h.entry.Number > first.entry.Number) == newest) {
			first = h
		}
	}
	return first
}

// entriesOf yields what is looked for of a section, in the order of its numbers.
func entriesOf(ctx context.Context, root *os.Root, segments []segment, tail []byte, q *Query) iter.Seq[Entry] {
	inTail := func(yield func(Entry) bool) bool {
		r := bytes.NewReader(tail)
		return eachAt(r, scanned(r, 0, int64(len(tail)), q), q, yield)
	}
	return func(yield func(Entry) bool) {
		if q.Newest && !inTail(yield) {
			return
		}
		if q.Newest {
			slices.Reverse(segments)
		}
		for i := range segments {
			if ctx.Err() != nil || q.mayHave(&segments[i].summary) && !inSegment(root, &segments[i], q, yield) {
				return
			}
		}
		if !q.Newest {
			inTail(yield)
		}
	}
}

// inSegment yields what is looked for of a segment; false if yield has ended it.
func inSegment(root *os.Root, s *segment, q *Query, yield func(Entry) bool) bool {
	f, err := root.Open(s.name)
	if err != nil {
		return true
	}
	defer func() { _ = f.Close() }() // it was only read
	if s.sealed && q.Within.IsValid() {
		return eachAt(f, offsetsOf(f, &s.summary, keyOf(q.Within)), q, yield)
	}
	return eachAt(f, scanned(f, int64(len(magic)), int64(s.Frames), q), q, yield)
}

// scanned returns where the entries are that are looked for, by reading all.
func scanned(f io.ReaderAt, from, to int64, q *Query) (offsets []int64) {
	scan(f, from, to, func(at int64, e *Entry) bool {
		if q.has(e) {
			offsets = append(offsets, at)
		}
		return true
	})
	return offsets
}

// eachAt yields the entries at some offsets that are looked for; false if yield has ended it.
func eachAt(f io.ReaderAt, offsets []int64, q *Query, yield func(Entry) bool) bool {
	if q.Newest {
		slices.Reverse(offsets)
	}
	var frame []byte
	for _, at := range offsets {
		frame = slices.Grow(frame[:0], headSize)[:headSize]
		n, _ := f.ReadAt(frame, at) // what is cut short is no frame
		size := frameSize(frame[:n])
		frame = slices.Grow(frame[:0], size)[:size]
		n, _ = f.ReadAt(frame, at)
		if e, ok := readFrame(frame[:n]); ok && q.has(&e) && !yield(e) {
			return false
		}
	}
	return true
}
