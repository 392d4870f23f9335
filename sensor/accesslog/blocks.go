package accesslog

import (
	"bytes"
	"io"
)

const (
	// maxLine is the longest line that is read: servers bound a request line
	// and each header to 8 KiB or so.
	maxLine = 64 << 10
	// blockSize is more than maxLine, and small enough that a block and its
	// events stay in the processor's second cache.
	blockSize = 128 << 10
)

// blocks cuts a source into blocks that end at a line's end. Not safe for
// concurrent use.
type blocks struct {
	src  io.Reader
	live bool
	rest []byte // begins the next block: what followed the last newline
	// skipping says that a line filled a whole block: its beginning was handed
	// on, and the rest of it is dropped, in constant memory.
	skipping bool
	err      error
}

// next fills buf with whole lines and gives those, empty at the end; then err
// says why. The last line of a file may lack its newline; where reading failed
// the last, unfinished line is dropped, because half an address is another
// address.
func (b *blocks) next(buf []byte) []byte {
	n := copy(buf, b.rest)
	b.rest = b.rest[:0]
	for b.err == nil {
		var got int
		got, b.err = b.src.Read(buf[n:])
		fresh := buf[n : n+got]
		if b.skipping {
			fresh = b.skip(fresh)
			copy(buf[n:], fresh)
		}
		n += len(fresh)
		if n == len(buf) || b.live && bytes.IndexByte(fresh, '\n') >= 0 {
			break
		}
	}
	return b.cut(buf[:n])
}

// skip drops the rest of a line that is too long.
func (b *blocks) skip(fresh []byte) []byte {
	end := bytes.IndexByte(fresh, '\n')
	if end < 0 {
		return nil
	}
	b.skipping = false
	return fresh[end+1:]
}

// cut gives the whole lines of buf and keeps what follows them.
func (b *blocks) cut(buf []byte) []byte {
	if b.err == io.EOF {
		return buf
	}
	end := bytes.LastIndexByte(buf, '\n') + 1
	switch {
	case b.err != nil:
		return buf[:end]
	case end > 0:
		b.rest = append(b.rest, buf[end:]...)
		return buf[:end]
	}
	b.skipping = true
	return buf[:maxLine+1]
}
