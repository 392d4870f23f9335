package eventlog

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"slices"
	"sort"
)

const (
	rowSize     = keySize + 4
	trailerMark = "egsealed"
)

// summary is what is known of a segment without reading it.
type summary struct {
	Frames           uint32 // their bytes, the magic included
	Rows             uint32
	First, Last      uint64 // numbers of its entries
	Earliest, Latest int64  // their times; clocks step
	Lengths          [129]bool
}

// note adds an entry to the summary.
func (s *summary) note(e *Entry) {
	at := e.Time.UnixNano()
	if s.First == 0 {
		s.First, s.Earliest, s.Latest = e.Number, at, at
	}
	s.Last, s.Earliest, s.Latest = e.Number, min(s.Earliest, at), max(s.Latest, at)
	s.Rows += uint32(len(e.Prefixes))
	for _, p := range e.Prefixes {
		s.Lengths[bitsOf(p)] = true
	}
}

// trailerSize is how long a trailer is: mark, summary and checksum.
var trailerSize = len(trailerMark) + binary.Size(summary{}) + 4

// trailer returns a summary as it is written.
func (s *summary) trailer() []byte {
	buf, _ := binary.Append([]byte(trailerMark), binary.LittleEndian, s) // of a fixed size
	return binary.LittleEndian.AppendUint32(buf, crc32.Checksum(buf, castagnoli))
}

// readTrailer reads the end of a sealed file of a size; ok is false if it is none.
func readTrailer(f io.ReaderAt, size int64) (s summary, ok bool) {
	buf := make([]byte, trailerSize)
	if n, _ := f.ReadAt(buf, size-int64(trailerSize)); n < len(buf) || !bytes.HasPrefix(buf, []byte(trailerMark)) {
		return s, false
	}
	body := buf[:len(buf)-4]
	if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(buf[len(body):]) {
		return s, false
	}
	if _, err := binary.Decode(body[len(trailerMark):], binary.LittleEndian, &s); err != nil {
		return s, false
	}
	return s, int64(s.Frames)+int64(s.Rows)*rowSize+int64(trailerSize) == size
}

// row is a line of the index.
type row [rowSize]byte

func (r *row) offset() uint32 { return binary.LittleEndian.Uint32(r[keySize:]) }

// indexOf returns the sorted rows of the entries of a file.
func indexOf(f io.ReaderAt, s *summary) []byte {
	rows := make([]row, 0, s.Rows)
	scan(f, int64(len(magic)), int64(s.Frames), func(at int64, e *Entry) bool {
		for _, p := range e.Prefixes {
			var r row
			k := keyOf(p)
			copy(r[:], k[:])
			binary.LittleEndian.PutUint32(r[keySize:], uint32(at))
			rows = append(rows, r)
		}
		return true
	})
	slices.SortFunc(rows, func(a, b row) int { return bytes.Compare(a[:], b[:]) })
	out := make([]byte, 0, len(rows)*rowSize)
	for i := range rows {
		out = append(out, rows[i][:]...)
	}
	return out
}

// offsetsOf returns where the entries are of which a prefix overlaps a network, by the
// index of a sealed file.
func offsetsOf(f io.ReaderAt, s *summary, within prefixKey) (offsets []int64) {
	at := func(i int) (r row) {
		_, _ = f.ReadAt(r[:], int64(s.Frames)+int64(i)*rowSize) // what cannot be read has no prefix
		return r
	}
	take := func(from prefixKey, fits func(prefixKey) bool) {
		first := sort.Search(int(s.Rows), func(i int) bool { r := at(i); return bytes.Compare(r[:keySize], from[:]) >= 0 })
		rows := bufio.NewReaderSize(io.NewSectionReader(f, int64(s.Frames)+int64(first)*rowSize, int64(int(s.Rows)-first)*rowSize), 64*rowSize)
		var r row
		for {
			if _, err := io.ReadFull(rows, r[:]); err != nil || !fits(prefixKey(r[:keySize])) {
				return
			}
			offsets = append(offsets, int64(r.offset()))
		}
	}
	for bits := range int(within[16]) {
		if s.Lengths[bits] {
			wide := within.around(bits)
			take(wide, func(k prefixKey) bool { return k == wide })
		}
	}
	take(within, within.holds)
	slices.Sort(offsets)
	return slices.Compact(offsets)
}

// scan passes each entry between two places of a file with its offset, until each returns
// false. It returns the end of the last whole entry; one that was damaged before it is left
// out. What it passes is valid during the call.
func scan(f io.ReaderAt, from, to int64, each func(at int64, e *Entry) bool) (end int64) {
	r := bufio.NewReaderSize(io.NewSectionReader(f, from, to-from), headSize+maxFrame)
	end = from
	for at := from; ; {
		head, _ := r.Peek(headSize)
		size := frameSize(head)
		frame, _ := r.Peek(size)
		if size == 0 || len(frame) < size {
			return end
		}
		e, ok := readFrame(frame)
		if ok && !each(at, &e) {
			return end
		}
		_, _ = r.Discard(size) // it is in the buffer
		if at += int64(size); ok {
			end = at
		}
	}
}
