package redis

import (
	"context"
	"errors"
	"net"
	"syscall"

	goredis "github.com/redis/go-redis/v9"
)

// The bounds of one answer, of what it may take of a node's memory: who can write
// to Redis can have an answer be of any size, and who replaces the functions can as
// well. The largest of a fleet's own are the list of all nodes, and a thousand
// records: some megabytes.
const (
	mostBytes  = 32 << 20
	mostText   = 1 << 20 // bytes of one string
	mostValues = 1 << 18
)

// errLarge is the error of a connection whose answer exceeds a bound. Nothing more
// can be read from it.
var errLarge = errors.New("answer of Redis is too large")

// boundedDialer returns how go-redis dials, in RESP2, with bounded answers.
func boundedDialer(o *goredis.Options) func(ctx context.Context, network, addr string) (net.Conn, error) {
	dial := goredis.NewDialer(o)
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return bound(c), nil
	}
}

func bound(c net.Conn) net.Conn {
	b := &conn{Conn: c, left: newAnswer()}
	if raw, ok := c.(syscall.Conn); ok {
		return &rawConn{b, raw}
	}
	return b
}

// conn is a connection whose answers are bounded.
type conn struct {
	net.Conn
	left scanner
}

// rawConn is a conn that go-redis can examine before it uses it again.
type rawConn struct {
	*conn
	syscall.Conn
}

func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if !c.left.scan(p[:n]) {
		return 0, errLarge // the text that is announced is not even allocated
	}
	return n, err
}

// scanner follows the lengths in answers. Its numbers count down.
type scanner struct {
	bytes, values int  // left of the answer's bounds
	open          int  // values still to come
	text          int  // bytes left of a string, with its line end
	kind          byte // of the line that is being read; 0 before it
	number        int  // of that line
	minus         bool
	line          int // bytes of that line
	failed        bool
}

func newAnswer() scanner { return scanner{bytes: mostBytes, values: mostValues, open: 1} }

// scan reports whether all is within the bounds.
func (s *scanner) scan(p []byte) bool {
	for len(p) > 0 && !s.failed {
		if s.text > 0 {
			n := min(s.text, len(p))
			s.text, p = s.text-n, p[n:]
			s.take(n)
			if s.text == 0 {
				s.value()
			}
			continue
		}
		s.read(p[0])
		s.take(1)
		p = p[1:]
	}
	return !s.failed
}

func (s *scanner) take(n int) {
	s.bytes -= n
	s.failed = s.failed || s.bytes < 0
}

// read reads a byte of a line.
func (s *scanner) read(b byte) {
	switch {
	case s.kind == 0:
		s.kind, s.number, s.minus, s.line = b, 0, false, 0
	case b == '\n':
		s.endLine()
	case b == '-' && s.line == 0:
		s.minus = true
	case b >= '0' && b <= '9' && (s.kind == '$' || s.kind == '*'):
		s.number = min(s.number*10+int(b-'0'), mostBytes)
	}
	s.line++
	s.failed = s.failed || s.line > mostText
}

func (s *scanner) endLine() {
	kind := s.kind
	s.kind = 0
	switch {
	case s.minus || kind != '$' && kind != '*':
		s.value()
	case kind == '$':
		s.text = s.number + 2
		s.failed = s.number > mostText
	default:
		s.open += s.number
		s.values -= s.number
		s.failed = s.values < 0
		s.value()
	}
}

// value counts one that is read, or an array's head.
func (s *scanner) value() {
	if s.open--; s.open == 0 && !s.failed {
		*s = newAnswer()
	}
}
