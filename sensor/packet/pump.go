package packet

import (
	"errors"
	"io"
	"maps"
)

// batches is how many there are in all: one in use by the caller, the others
// being filled or waiting, so that neither side feels a short delay of the
// other.
const batches = 6

// pump is the side of a Reader that reads ahead, in its own goroutine.
type pump struct {
	to      *Reader
	source  records
	decoder *decoder
	batch   *batch // being filled
	closed  bool   // the Reader was closed; there are no more batches
}

// newPump readies a pump. It passes on what is decoded before every read of an
// input that may block: a live capture through a pipe is not held back until a
// batch is full. A file does not block, and full batches cost fewer hand-overs.
func newPump(to *Reader, w *window, source records, d *decoder) *pump {
	p := &pump{to: to, source: source, decoder: d, batch: <-to.spare}
	if to.size == 0 {
		w.idle = p.hand
	}
	return p
}

// run reads until the end or Close.
func (p *pump) run() {
	defer close(p.to.ready)
	var r record
	for {
		err := p.source.next(&r)
		if p.closed {
			return
		}
		if err != nil {
			p.finish(err)
			return
		}
		p.decoder.decode(&r, p.batch)
		if p.batch.full() {
			p.hand()
		}
	}
}

// hand returns the batch to the Reader and takes an empty one. The channel has
// room for all batches, so that only taking waits.
func (p *pump) hand() {
	if p.closed || len(p.batch.events) == 0 {
		return
	}
	p.publish()
	p.to.ready <- p.batch
	select {
	case p.batch = <-p.to.spare:
		p.batch.reset()
	case <-p.to.quit:
		p.closed = true
	}
}

// finish passes on the rest, with the reason for the end.
func (p *pump) finish(err error) {
	var d *damage
	switch {
	case errors.As(err, &d):
		p.decoder.stats.Truncated = d.Error()
	case !errors.Is(err, io.EOF) && !p.isQuitting():
		p.to.err = err
	}
	p.publish()
	if len(p.batch.events) > 0 {
		p.to.ready <- p.batch
	}
}

// isQuitting reports whether Close was called, which breaks a read off.
func (p *pump) isQuitting() bool {
	select {
	case <-p.to.quit:
		return true
	default:
		return false
	}
}

// publish makes the decoder's figures the Reader's.
func (p *pump) publish() {
	r, s := p.to, p.decoder.stats
	r.mu.Lock()
	defer r.mu.Unlock()
	seen := r.stats.NotIP
	if seen == nil {
		seen = make(map[LinkType]uint64)
	}
	maps.Copy(seen, s.NotIP)
	r.stats = s
	r.stats.NotIP = seen
}
