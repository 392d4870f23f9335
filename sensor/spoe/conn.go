package spoe

import (
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"time"

	"edgeguard/haproxy/spop"
	"edgeguard/internal/lobby"
)

const (
	// ioFor bounds the first words of a connection, the rest of a frame that has begun
	// to arrive, and the writing of answers. A connection may idle as long as it likes:
	// HAProxy is to hang up, or a request may meet a connection that is being closed.
	ioFor = 5 * time.Second
	// mostFrame bounds the frames of a connection: HAProxy's with tune.bufsize 131072.
	mostFrame = 128<<10 - 4
	// firstBuffer holds the HELLO and then some requests; a longer frame gets more.
	firstBuffer = 8 << 10
	// fullOut is when answers are written although more requests were read.
	fullOut = 16 << 10
	// stall is how long a connection must have been silent for its next request to
	// raise the question whether HAProxy is still there, see conn.late.
	stall = time.Second
)

// errDrained says that the server is about to end.
var errDrained = errors.New("the server ends")

// conn is one connection of HAProxy. One goroutine serves it.
type conn struct {
	*lobby.Conn
	server *Server
	wire   net.Conn // the same, or TLS over it
	asked  *question
	// proxied says that the kernel does not see the clients.
	proxied bool
	most    int    // bytes of a frame, as both sides agreed
	in      []byte // what was read; have of it are not answered yet
	have    int
	out     []byte
	timed   bool      // a read deadline is set, because in ends with a part of a frame
	read    time.Time // when something was read the last time
	writeBy time.Time // the write deadline that is set
}

// converse speaks with HAProxy until one of both ends it.
func (c *conn) converse() error {
	hello, err := c.greet()
	if err != nil || hello.HealthCheck {
		return err
	}
	return c.speak()
}

// speak answers requests.
func (c *conn) speak() error {
	for {
		if err := c.fill(); err != nil {
			return err
		}
		now := time.Now()
		if c.late(now) {
			c.server.stats.late.Add(1)
			return io.EOF
		}
		if !c.Asks(now) {
			return io.EOF // it was closed for another: what is not answered is not counted
		}
		moved, err := c.answerAll(now)
		if err != nil {
			return err
		}
		c.Answered()
		runtime.Gosched() // who sends without a pause takes turns with others
		if err := c.await(now, moved); err != nil {
			return err
		}
	}
}

// greet exchanges the first words.
func (c *conn) greet() (spop.Hello, error) {
	c.in = make([]byte, firstBuffer)
	c.most = firstBuffer - 4
	var f spop.Frame
	for size := 0; size == 0; {
		if err := c.fill(); err != nil {
			return spop.Hello{}, err
		}
		var err error
		if f, size, err = spop.NextFrame(c.in[:c.have], c.most); err != nil {
			return spop.Hello{}, fault{alarmProtocol, err}
		}
		if size > 0 && (f.Type != spop.TypeHello || size < c.have) { // it must wait for ours
			return spop.Hello{}, fault{alarmProtocol, spop.Invalid}
		}
	}
	hello, err := spop.ReadHello(f.Payload)
	if err != nil {
		return hello, fault{alarmHello, err}
	}
	if hello.MaxFrame > mostFrame && !hello.HealthCheck {
		c.server.asker.Alarm(alarmHello, fmt.Sprintf("HAProxy offers frames of %d bytes, and at most %d are read: a request with a longer header is let through and not counted; set tune.bufsize to at most %d",
			hello.MaxFrame, mostFrame, mostFrame+4))
	}
	c.most, c.have = int(min(hello.MaxFrame, mostFrame)), 0
	now := time.Now()
	if !c.Asks(now) {
		return hello, io.EOF
	}
	c.out = spop.AppendHello(c.out[:0], uint32(c.most))
	if err := c.flush(now); err != nil {
		return hello, err
	}
	c.Answered()
	if hello.HealthCheck {
		c.server.stats.checks.Add(1)
		return hello, nil
	}
	c.timed = true
	return hello, c.await(now, true)
}

// fill reads what HAProxy has sent.
func (c *conn) fill() error {
	if c.have == len(c.in) {
		// A frame that is longer than agreed was an error before it filled the buffer.
		longer := make([]byte, min(2*len(c.in), c.most+4))
		copy(longer, c.in)
		c.in = longer
	}
	n, err := c.wire.Read(c.in[c.have:])
	c.have += n
	if n > 0 {
		return nil
	}
	if c.server.conns.Draining() {
		return errDrained
	}
	return err
}

// answerAll answers all whole frames that were read, and writes once. moved reports
// whether there were any.
func (c *conn) answerAll(now time.Time) (moved bool, err error) {
	rest := c.in[:c.have]
	var stop error
	for {
		f, size, err := spop.NextFrame(rest, c.most)
		if err != nil {
			stop = fault{alarmProtocol, err}
		}
		if size == 0 {
			break
		}
		rest, moved = rest[size:], true
		if stop = c.frame(f); stop != nil {
			break
		}
		if len(c.out) > fullOut {
			if err := c.flush(now); err != nil {
				return moved, err
			}
		}
	}
	c.have = copy(c.in, rest)
	if err := c.flush(now); err != nil {
		return moved, err
	}
	return moved, stop
}

// frame answers one frame.
func (c *conn) frame(f spop.Frame) error {
	var err error
	switch f.Type {
	case spop.TypeNotify:
		c.out, err = c.server.answer(c.out, f, c.asked, c.proxied)
	case spop.TypeDisconnect:
		return c.disconnected(f)
	default:
		err = spop.Invalid
	}
	if err != nil {
		return fault{alarmProtocol, err}
	}
	return nil
}

// disconnected answers HAProxy's last words.
func (c *conn) disconnected(f spop.Frame) error {
	why, _, err := spop.ReadDisconnect(f.Payload)
	if err != nil {
		return fault{alarmProtocol, err}
	}
	c.out = spop.AppendDisconnect(c.out, spop.Normal)
	if why >= spop.TooBig { // below are an end in order, a broken connection, and one that idled
		c.server.stats.faults.Add(1)
		c.server.asker.Alarm(alarmProtocol, "HAProxy ended a connection: "+why.Error()+"; the requests on it were let through")
	}
	return io.EOF
}

// flush writes the answers.
func (c *conn) flush(now time.Time) error {
	if len(c.out) == 0 {
		return nil
	}
	if c.writeBy.Sub(now) < ioFor { // about once in five seconds, for setting it is not free
		c.writeBy = now.Add(2 * ioFor)
		if err := c.wire.SetWriteDeadline(c.writeBy); err != nil {
			return err
		}
	}
	_, err := c.wire.Write(c.out)
	c.out = c.out[:0]
	return err
}

// await sets the deadline of the next read: none, unless a frame has begun. It is that
// of the frame, and bytes that trickle in do not move it.
func (c *conn) await(now time.Time, moved bool) error {
	c.read = now
	switch begun := c.have > 0; {
	case begun && (moved || !c.timed):
		if err := c.wire.SetReadDeadline(now.Add(ioFor)); err != nil {
			return err
		}
		c.timed = true
	case !begun && c.timed:
		if err := c.wire.SetReadDeadline(time.Time{}); err != nil {
			return err
		}
		c.timed = false
	}
	if c.server.conns.Draining() { // after the deadline, which a drain sets, too
		return errDrained
	}
	return nil
}

// late reports whether what was just read waited while this process did not run, and
// HAProxy has hung up meanwhile: its requests were let through long ago, and counting
// them would put them into the wrong time.
func (c *conn) late(now time.Time) bool {
	return now.Sub(c.read) > stall && c.Gone()
}
