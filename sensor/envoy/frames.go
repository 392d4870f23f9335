package envoy

import (
	"encoding/binary"
	"time"
)

// Frames of HTTP/2 that carry no question cost as much as one that does. An Envoy sends few of
// them: its settings, a ping now and then, and a reset for each question that it gives up.
// net/http answers as many as come, so they are counted as they are read.

const (
	// mostOdd and oddEach are how many of them a connection may send together, and each second
	// from then on. A question pays for one more: a client in Go pings once in a while for what
	// it reads.
	mostOdd, oddEach = 100, 10
	// openingSize is the length of what an HTTP/2 client says first, before any frame.
	openingSize = 24
	// headSize is the length of what a frame begins with.
	headSize = 9
)

// The types of frames that are told apart.
const (
	frameData = iota
	frameHeaders
	_
	frameReset
)

const (
	frameContinuation = 9
	// endsStream is a flag of a frame of data.
	endsStream = 1
)

// allowance is what may be sent of something: mostOdd together, oddEach a second.
type allowance struct {
	spare float64
	at    time.Time
}

// take takes one, and reports false if there is none.
func (a *allowance) take(now time.Time) bool {
	a.spare, a.at = min(mostOdd, a.spare+now.Sub(a.at).Seconds()*oddEach), now
	if a.spare < 1 {
		return false
	}
	a.spare--
	return true
}

// frames follows what one connection sends.
type frames struct {
	skip int // bytes until the next head
	head [headSize]byte
	have int // of head

	odd, resets allowance
	asked       int    // questions that were not reset
	last        uint32 // stream of a question
}

func newFrames(now time.Time) frames {
	full := allowance{spare: mostOdd, at: now}
	return frames{skip: openingSize, odd: full, resets: full}
}

// conduct is what is to become of a connection, by the frames that came.
type conduct int

const (
	goesOn conduct = iota
	// yields lets others go first: a frame came that carries no question.
	yields
	// retires ends the connection with its next answer: many questions were reset. Those
	// that are under way are answered.
	retires
	// ends ends it now: what it sends carries no question.
	ends
)

// read follows bytes that came at the instant now.
func (f *frames) read(now time.Time, p []byte) (worst conduct) {
	for len(p) > 0 {
		if f.skip > 0 {
			n := min(f.skip, len(p))
			f.skip, p = f.skip-n, p[n:]
			continue
		}
		n := copy(f.head[f.have:], p)
		f.have, p = f.have+n, p[n:]
		if f.have == headSize {
			worst = max(worst, f.frame(now))
		}
	}
	return worst
}

// frame follows the head of a frame.
func (f *frames) frame(now time.Time) conduct {
	start := binary.BigEndian.Uint32(f.head[:])
	size, kind, flags := int(start>>8), byte(start), f.head[4]
	f.have, f.skip = 0, size
	switch {
	case kind == frameHeaders:
		f.asked++
		f.last = max(f.last, binary.BigEndian.Uint32(f.head[5:])&(1<<31-1))
		f.odd.spare = min(mostOdd, f.odd.spare+1)
		return goesOn
	case size > 0 && (kind == frameData || kind == frameContinuation), kind == frameData && flags&endsStream != 0:
		return goesOn // of a question
	case kind == frameReset && f.asked > 0:
		f.asked--
		if !f.resets.take(now) {
			return retires
		}
	case !f.odd.take(now):
		return ends
	}
	return yields
}

// farewellFrame returns a GOAWAY that says to be calmer.
func (f *frames) farewellFrame() []byte {
	const enhanceYourCalm = 11
	out := []byte{0, 0, 8, 7, 0, 0, 0, 0, 0}
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(out, f.last), enhanceYourCalm)
}
