package envoy

import (
	"errors"
	"io"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"edgeguard"
	"edgeguard/sensor/clientaddr"
)

// healthMethod is what Envoy's health checks of a cluster call.
const healthMethod = "/grpc.health.v1.Health/Check"

// call is one call on its way to its answer. Calls are kept and used again.
type call struct {
	peer    peer
	trusted bool
	room    []byte // what was read
	message []byte // a part of it
	out     []byte
	event   edgeguard.Event
	lines   [clientaddr.MaxHops]string
	check   CheckRequest
	limit   LimitRequest
	// The event's Header of each method, bound once.
	ofCheck, ofLimit func(name string) (string, bool)
}

// deepen makes the goroutine's stack as large as a decision takes, 8 KiB. net/http begins a
// goroutine for each call, with a stack of 2 KiB, which would be copied each time it is
// doubled, and the deeper it is, the more that costs.
//
//go:noinline
func deepen() {
	var room [6 << 10]byte
	runtime.KeepAlive(&room)
}

// firstRead is the room in which a call waits for its message. With it, all calls of the usual
// number of connections may wait together (mostRead).
const firstRead = 2 << 10

// keptMessage and keptParts bound what a call that waits for the next use keeps.
const (
	keptMessage = 16 << 10
	keptParts   = 256
)

var calls = sync.Pool{New: func() any {
	c := &call{}
	c.ofCheck, c.ofLimit = c.check.Header, c.entry
	return c
}}

func (c *call) end() {
	if cap(c.room) > keptMessage {
		c.room = nil
	}
	c.message = nil
	if cap(c.check.Headers)+cap(c.check.Lines)+cap(c.limit.Entries)+cap(c.limit.Descriptors) > keptParts {
		c.check, c.limit = CheckRequest{}, LimitRequest{}
	}
	c.event = edgeguard.Event{}
	calls.Put(c)
}

// budget bounds what many hold together.
type budget struct {
	most int64
	used atomic.Int64
}

func (b *budget) take(n int) bool {
	if b.used.Add(int64(n)) <= b.most {
		return true
	}
	b.give(n)
	return false
}

func (b *budget) give(n int) { b.used.Add(-int64(n)) }

// errTooLong says that a message is too long to be read.
var errTooLong = errors.New("the message is too long")

// refused is a call that is answered with a code.
type refused struct {
	code Code
	why  string
}

func (r refused) Error() string { return r.why }

// serve answers one call.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	deepen()
	p, _ := r.Context().Value(peerKey{}).(peer)
	if p.conn != nil {
		if !p.conn.asks() {
			p.conn.answered()
			return // it was closed for another: what is not answered is not counted
		}
		defer p.conn.answered()
		if p.conn.retire.Load() {
			w.Header().Set("Connection", "close") // net/http sends a GOAWAY, and answers what is under way
			p.conn.leaves.Store(true)
		}
	}
	c := calls.Get().(*call)
	defer c.end()
	c.peer, c.trusted = p, p.trusted || p.conn != nil && p.conn.verified()
	size, heard := 0, error(nil)
	if c.trusted { // who is not is counted itself, whatever it says: nothing of it is read
		size, heard = s.receive(c, r.Body)
	}
	defer s.read.give(size)
	if r.Method != http.MethodPost || !isGRPC(r.Header.Get("Content-Type")) {
		s.asker.unreadable(internal, "it is not gRPC")
		w.WriteHeader(http.StatusUnsupportedMediaType)
		return
	}
	err := s.answer(c, r, heard)
	if err == nil && r.Context().Err() != nil {
		s.asker.stats.late.Add(1)
	}
	h := w.Header()
	h["Date"], h["Content-Type"] = nil, contentType
	switch e := err.(type) {
	case nil:
		h["Trailer"] = trailer
		_, _ = w.Write(c.out)
		h["Grpc-Status"] = statusOK
	case refused:
		s.asker.unreadable(e.code, e.why)
		h["Grpc-Status"], h["Grpc-Message"] = []string{e.code.String()}, []string{e.why}
	default: // the stream has ended, or its client does not send
		h["Grpc-Status"] = []string{deadline.String()}
	}
}

// The header lines of an answer, which net/http only reads.
var (
	contentType = []string{"application/grpc"}
	trailer     = []string{"Grpc-Status"}
	statusOK    = []string{OK.String()}
)

// method is a method of a service.
type method struct {
	// answer reads c.message and appends the answer to c.out; false: it cannot be read.
	answer func(a *asker, c *call) bool
	// tooLong appends the answer to a message that is too long.
	tooLong func(c *call)
}

var methods = map[string]method{
	CheckMethod: {(*asker).check, (*call).checkTooLong},
	LimitMethod: {(*asker).limit, (*call).limitTooLong},
}

// answer appends the answer to c.out, to a message that was received, or was not for a reason.
func (s *Server) answer(c *call, r *http.Request, heard error) error {
	if r.URL.Path == healthMethod {
		s.asker.stats.checks.Add(1)
		c.out = append(c.out[:0], serving...)
		return nil
	}
	m, ok := methods[r.URL.Path]
	if !ok {
		return refused{unimplemented, "unknown method"}
	}
	c.out = BeginFrame(c.out[:0])
	switch {
	case errors.Is(heard, errTooLong):
		s.asker.tooLong()
		m.tooLong(c)
	case heard != nil:
		return heard
	case !m.answer(s.asker, c):
		return refused{invalidArgument, "the message is not of the method, or has too many parts"}
	}
	EndFrame(c.out, 0)
	return nil
}

// receive reads the one message of a call into c.message. It returns what it took of the
// budget: room for what has arrived, whatever length the message says that it has. It reads
// all that has come together, because net/http's connection hears of each read.
func (s *Server) receive(c *call, body io.Reader) (taken int, err error) {
	if !s.read.take(firstRead) {
		return 0, errCrowded
	}
	taken = firstRead
	if cap(c.room) < firstRead {
		c.room = make([]byte, firstRead)
	}
	c.room = c.room[:cap(c.room)]
	n, err := io.ReadAtLeast(body, c.room, FrameHeadSize)
	if err != nil {
		return taken, cut(err)
	}
	size, err := sizeOf(c.room[:FrameHeadSize])
	if err != nil {
		return taken, err
	}
	end := FrameHeadSize + size
	for err == nil && n <= end { // to the end of the body, or to the first byte of another message
		if n == len(c.room) {
			room := min(2*n, end+1)
			if !s.read.take(room - taken) {
				return taken, errCrowded
			}
			taken = room
			c.room = slices.Grow(c.room, room-n)[:room]
		}
		var more int
		more, err = body.Read(c.room[n:])
		n += more
	}
	switch {
	case n < end:
		return taken, cut(err)
	case n > end:
		return taken, refused{internal, "there is more than one message"}
	}
	c.message = c.room[FrameHeadSize:end]
	return taken, nil
}

// sizeOf returns the length of the message that a head precedes.
func sizeOf(head []byte) (int, error) {
	size, code := readFrameHead(head)
	switch code {
	case OK:
		return size, nil
	case exhausted:
		return 0, errTooLong
	case unimplemented:
		return 0, refused{code, "the message is compressed"}
	}
	return 0, refused{code, "the message is not framed as gRPC says"}
}

// errCrowded refuses a call for which there is no room.
var errCrowded = refused{exhausted, "too much is being read at the moment"}

// cut returns what the end of a body means in which a message is not whole: a stream that
// was broken off is not answered.
func cut(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return refused{internal, "the message is not whole"}
	}
	return err
}

// serving is the answer to a health check, framed: status SERVING.
var serving = []byte{0, 0, 0, 0, 2, 0x08, 1}
