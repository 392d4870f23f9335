package watch

import "sync"

const (
	// MostStreams is how many streams may be open on a node.
	MostStreams = 256
	// ForPrograms is how many of them browsers cannot take: who opens a hundred tabs
	// must not stop what feeds a firewall.
	ForPrograms = 64
)

// StreamReader is who opens a stream.
type StreamReader struct {
	Browser bool
	// Guest is a reader without a login. Every user of the host can be one, so that
	// half of the places are kept for the others.
	Guest bool
}

// Places bounds the streams that are open. It is safe for concurrent use. The zero
// value has all of them free.
type Places struct {
	mu            sync.Mutex // guards the fields below
	all, browsers int
	guests        int
}

// Take takes a place, which release gives back. It returns nil where none is free
// for such a reader.
func (p *Places) Take(r StreamReader) (release func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all >= MostStreams || r.Browser && p.browsers >= MostStreams-ForPrograms || r.Guest && p.guests >= MostStreams/2 {
		return nil
	}
	p.add(r, 1)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.add(r, -1)
	}
}

// add counts a reader. It needs the lock.
func (p *Places) add(r StreamReader, n int) {
	p.all += n
	if r.Browser {
		p.browsers += n
	}
	if r.Guest {
		p.guests += n
	}
}
