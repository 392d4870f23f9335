package snapshot

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/cespare/xxhash/v2"

	"edgeguard"
)

// reader reads a snapshot frame by frame and checks everything that can be
// wrong with it. Its memory is one frame.
type reader struct {
	in    io.Reader
	at    int64          // bytes read
	whole *xxhash.Digest // of those
	room  [maxPayload + frameTail]byte
	count tally
	cut   Cut

	meters int
	window Window
	block  Block
}

func newReader(r io.Reader) *reader {
	return &reader{in: r, whole: xxhash.New()}
}

// readRecords reads all of the file, hands it over, and returns the checksum of the whole.
func (r *reader) readRecords(to *handover) (sum uint64, err error) {
	if err := r.prologue(); err != nil {
		return 0, err
	}
	for first := true; ; first = false {
		sum = r.whole.Sum64()
		begin := r.at
		kind, payload, err := r.frame()
		if err != nil {
			return 0, err
		}
		if first != (kind == kindHead) {
			return 0, damaged(begin, "an unexpected frame %q", kind)
		}
		d := decoder{rest: payload}
		if kind == kindEnd {
			return sum, r.end(&d, sum)
		}
		for len(d.rest) > 0 && d.err == nil {
			r.record(kind, &d, to)
		}
		if d.err != nil {
			return 0, damaged(begin, "frame %q: %v", kind, d.err)
		}
	}
}

// record takes one record off the payload, and hands it over.
func (r *reader) record(kind byte, d *decoder, to *handover) {
	switch kind {
	case kindHead:
		if d.cut(&r.cut); len(d.rest) > 0 {
			d.fail("two heads")
		}
	case kindMeter:
		var m Meter
		if d.meter(&m); d.err == nil {
			r.meters++
			to.meter(m)
		}
	case kindWindow:
		if r.meters == 0 {
			d.fail("windows of no meter")
		}
		if d.window(&r.window); d.err == nil {
			r.count.windows++
			to.window(&r.window)
		}
	case kindBlock:
		if d.block(&r.block); d.err == nil {
			r.count.blocks++
			to.block(&r.block)
		}
	case kindStep:
		var s Step
		if d.step(&s); d.err == nil {
			r.count.steps++
			to.step(s)
		}
	case kindPosition:
		var p Position
		if d.position(&p); d.err == nil {
			r.count.positions++
			to.position(p)
		}
	case kindEvidence:
		var e edgeguard.Evidence
		if d.evidence(&e); d.err == nil {
			to.evidence(&e)
		}
	case kindDistribution:
		var one Distribution
		if d.distribution(&one); d.err == nil {
			to.distribution(one)
		}
	case kindNote:
		if text := d.bytes(); d.err == nil {
			to.note(text)
		}
	default:
		d.fail("unknown kind")
	}
}

// prologue reads the magic and the version. What is the beginning of a
// snapshot and no more was cut short.
func (r *reader) prologue() error {
	b := r.room[:prologue]
	n, err := io.ReadFull(r.in, b)
	if err != nil && !isEnd(err) {
		return err
	}
	known := min(n, len(magic))
	if !bytes.Equal(b[:known], []byte(magic)[:known]) {
		return errForeign
	}
	if n < prologue {
		return damaged(int64(n), "cut short")
	}
	if got := binary.LittleEndian.Uint16(b[len(magic):]); got != version {
		return fmt.Errorf("%w: format %d, not %d", errVersion, got, version)
	}
	r.at = int64(n)
	_, _ = r.whole.Write(b)
	return nil
}

// frame reads one frame into the room for it, whatever length it claims.
func (r *reader) frame() (kind byte, payload []byte, err error) {
	var head [frameHead]byte
	if err := r.full(head[:]); err != nil {
		return 0, nil, err
	}
	size := binary.LittleEndian.Uint32(head[1:])
	if size == 0 || size > maxPayload {
		return 0, nil, damaged(r.at, "a frame of %d bytes", size)
	}
	begin := r.at
	b := r.room[:size+frameTail]
	if err := r.full(b); err != nil {
		return 0, nil, err
	}
	payload = b[:size]
	sum := crc32.Update(crc32.Checksum(head[:], castagnoli), castagnoli, payload)
	if sum != binary.LittleEndian.Uint32(b[size:]) {
		return 0, nil, damaged(begin, "a frame's checksum does not match")
	}
	return head[0], payload, nil
}

func (r *reader) full(b []byte) error {
	n, err := io.ReadFull(r.in, b)
	_, _ = r.whole.Write(b[:n])
	r.at += int64(n)
	if isEnd(err) {
		return damaged(r.at, "cut short")
	}
	return err
}

func isEnd(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

// end checks the last frame: the counts, the checksum of all before it, and
// that nothing follows.
func (r *reader) end(d *decoder, sum uint64) error {
	count, want := d.tally(), d.fixed64()
	switch {
	case d.err != nil || len(d.rest) > 0:
		return damaged(r.at, "the end has the wrong size")
	case count != r.count:
		return damaged(r.at, "the numbers of records do not match")
	case sum != want:
		return damaged(r.at, "the checksum of the whole does not match")
	}
	n, err := io.ReadFull(r.in, r.room[:1])
	if n > 0 {
		return damaged(r.at, "there is more after the end")
	}
	if !isEnd(err) {
		return err
	}
	return nil
}
