package accesslog

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"edgeguard/logline"
)

// datagramPages go round between the goroutine that receives and the one that
// decides: the kernel's queue is short (10 datagrams, unless it was raised), so
// that it must be emptied while a batch is decided.
const datagramPages = 16

// receive takes datagrams until ctx ends.
func (l *Listener) receive(ctx context.Context) error {
	queue := queueLength()
	l.count(func(s *ListenStats) { s.Queue = queue })
	raw, err := l.packets.SyscallConn()
	if err != nil {
		return fmt.Errorf("listen at %q: %w", l.config.Address, err)
	}
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
			p.buf = make([]byte, blockSize+maxDatagram)
		}
		d := datagrams{buf: p.buf}
		err := d.await(raw)
		p.Text = d.lines()
		if run += d.count; run > queue && queue > 0 {
			d.full, run = 1, 0
		}
		if !d.more {
			run = 0
		}
		l.note(&d)
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
		if left--; d.count == 0 {
			left = 0
		}
	}
	return nil // a sender that goes on sending is not waited for
}

// note counts what came together.
func (l *Listener) note(d *datagrams) {
	if d.count == 0 {
		return
	}
	l.count(func(s *ListenStats) {
		s.Datagrams += uint64(d.count)
		s.Cut += uint64(d.cut)
		s.Full += d.full
	})
}

// queueLength returns the most datagrams that a new socket's queue holds, 0 if it
// is not known (unix(7), net.unix.max_dgram_qlen).
func queueLength() int {
	b, err := os.ReadFile("/proc/sys/net/unix/max_dgram_qlen")
	if err != nil {
		return 0
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return 0
	}
	return n
}

// datagrams collects datagrams as lines in buf.
type datagrams struct {
	buf        []byte
	used       int
	count, cut int
	more       bool   // may be waiting: the room ended first
	full       uint64 // 1 if the kernel's queue may have been full
}

// maxDatagram is the longest that is read whole. Linux sends none longer than
// 208 KiB, unless net.core.wmem_max and the sender's SO_SNDBUF were raised.
const maxDatagram = 256 << 10

// room returns where the next datagram goes, nil if there is no room for one.
func (d *datagrams) room() []byte {
	if len(d.buf)-d.used < maxDatagram+2 {
		return nil
	}
	return d.buf[d.used : d.used+maxDatagram+1]
}

// add takes the n bytes that came into room as a line, without their syslog
// prefix. size is how long the datagram was.
//
// A newline inside a datagram is the server's escape=none, and what follows it
// may be a client's: it begins no line.
func (d *datagrams) add(n, size int) {
	d.count++
	text := d.buf[d.used : d.used+n]
	if size > n {
		d.cut++ // what is missing is behind all that is read of a line of text
	} else {
		text = bytes.TrimRight(text, "\r\n\x00")
		if len(text) > 0 && text[0] == '<' {
			text = text[logline.SyslogPrefix(text):]
		}
	}
	for i := bytes.IndexByte(text, '\n'); i >= 0; i = bytes.IndexByte(text, '\n') {
		text[i] = ' '
	}
	d.used += copy(d.buf[d.used:], text)
	d.buf[d.used] = '\n'
	d.used++
}

func (d *datagrams) lines() []byte { return d.buf[:d.used] }
