package accesslog

import (
	"context"
	"fmt"
	"sync"
)

// LeastQueue is how many datagrams the kernel's queue of a unix socket should hold: at its
// own 10, two thirds of the lines are lost at full load.
const LeastQueue = 4096

// datagramPages go round between the goroutine that receives and the one that
// decides: the kernel's queue is short (10 datagrams of a unix socket, unless it
// was raised), so that it must be emptied while a batch is decided.
const datagramPages = 16

// receive takes datagrams until ctx ends.
func (l *Listener) receive(ctx context.Context) error {
	free, full := make(chan *page, datagramPages), make(chan *page, datagramPages)
	for range datagramPages {
		free <- &page{}
	}
	var deciding sync.WaitGroup
	deciding.Go(func() {
		for p := range full {
			l.take(p)
			free <- p
		}
	})
	defer deciding.Wait()
	defer close(full)
	run := 0 // how many were waiting, one behind the other
	for left := datagramPages; left > 0; {
		p := <-free
		if p.buf == nil {
			p.buf = make([]byte, blockSize+longestDatagram)
		}
		b, err := l.packets.Read(p.buf)
		p.Text = b.Lines()
		run = l.note(b, run)
		if len(p.Text) > 0 {
			full <- p // has room for all pages
		} else {
			free <- p
		}
		if err == nil {
			continue
		}
		if ctx.Err() == nil {
			return fmt.Errorf("listen at %q: %w", l.config.Address, err)
		}
		if left--; b.Count == 0 {
			left = 0
		}
	}
	return nil // a sender that goes on sending is not waited for
}

// note counts what came together, and returns how many were waiting, one behind
// the other, with the run before.
func (l *Listener) note(b *datagramBatch, run int) int {
	if b.Count+b.Refused == 0 {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s, queue := &l.stats, l.packets.Queue
	s.Datagrams += uint64(b.Count)
	s.Cut += uint64(b.Cut)
	s.Foreign += uint64(b.Refused)
	if b.Dropped != 0 {
		s.Dropped += uint64(b.Dropped - uint32(s.Dropped)) // the kernel's count is of 32 bits
	}
	if run += b.Count; run > queue && queue > 0 {
		s.Full++
		run = 0
	}
	if !b.More {
		run = 0
	}
	return run
}
