package accesslog

import (
	"bytes"
	"io"
)

const (
	// blockSize is more than logline.MaxLine, and small enough that a block and its
	// events stay in the processor's second cache.
	blockSize = 128 << 10
)

// blocks cuts a source into blocks that end at a line's end, but where a line is
// longer than a block. Not safe for concurrent use.
type blocks struct {
	src    io.Reader
	live   bool
	rest   []byte // begins the next block: what followed the last newline
	goesOn bool   // the last line of the last block goes on in the next
	err    error
}

// next fills buf with whole lines and returns those, empty at the end; then err
// says why. A line that fills a whole block is returned in pieces. The last line of
// a file may lack its newline; where reading failed the last, unfinished line is
// dropped, because half an address is another address.
func (b *blocks) next(buf []byte) []byte {
	n := copy(buf, b.rest)
	b.rest = b.rest[:0]
	for b.err == nil {
		var got int
		got, b.err = b.src.Read(buf[n:])
		fresh := buf[n : n+got]
		n += got
		if n == len(buf) || b.live && bytes.IndexByte(fresh, '\n') >= 0 {
			break
		}
	}
	return b.cut(buf[:n], buf)
}

// cut returns the whole lines of text and keeps what follows them.
func (b *blocks) cut(text, buf []byte) []byte {
	began := b.goesOn
	b.goesOn = false
	end := bytes.LastIndexByte(text, '\n') + 1
	switch {
	case b.err == io.EOF:
		if len(text) == 0 && began { // the end of the file is that of the line
			return append(buf[:0], '\n')
		}
		return text
	case b.err != nil:
		return text[:end]
	case end > 0:
		b.rest = append(b.rest, text[end:]...)
		return text[:end]
	}
	b.goesOn = true
	return text
}
