package httpauth

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/netip"
	"strings"

	"github.com/valyala/fasthttp"

	"edgeguard"
	"edgeguard/internal/unsafetext"
)

// maxLong bounds the header that is still read when it is over the limit: what
// Caddy takes from its clients, and nginx only with settings that are unusual.
const maxLong = 1 << 20

// longStep is how much of it is in memory at a time, beside what is kept.
const longStep = 4 << 10

// describing are the lines that say what a request is, in lower case; beside
// them is the one that names the client.
var describing = []string{"host", "user-agent", "x-request-id", "x-original-method", "x-original-uri",
	"x-forwarded-method", "x-forwarded-uri", "x-forwarded-host"}

// errLong says that the client cannot be found in a header over the limit.
var errLong = errors.New("the header is too long to find its client")

// countLong counts a question whose header is over the limit, which is refused
// whatever the verdict. If its client is not certain, it is reported as
// not counted.
func (s *Server) countLong(c *conn) {
	a := s.asker
	var request fasthttp.RequestHeader
	cut, err := s.readLong(c, &request)
	p, rest := protocolOf(unsafetext.String(request.RequestURI()))
	if err != nil && a.Trust.Has(c.peer) {
		a.ReportUncounted(netip.Addr{}, edgeguard.HeadersTooLong)
		return
	}
	q := newQuestion(&request)
	defer q.end()
	q.part, q.noPath = true, cut && p == protocolEnvoy
	if s.ask(q, c.peer, p, rest); !q.event.Addr.IsValid() {
		return // no client is named, which is reported already
	}
	s.stats.overlong.Add(1)
	if cut {
		a.ReportUncounted(q.event.Addr, edgeguard.FieldCut)
	}
}

// readLong reads the request line and the lines that matter of a header that
// begins in what filled the connection's buffer. cut says that one of them did not fit and
// is missing: never one that names the client, for that is an error.
func (s *Server) readLong(c *conn, into *fasthttp.RequestHeader) (cut bool, err error) {
	l := longHeader{limit: s.headerLimit, naming: [2]string{
		strings.ToLower(s.asker.Finder.Header()), strings.ToLower(s.realIP.Header()),
	}}
	unread := io.LimitReader(c.Conn, maxLong)
	if err := l.read(bufio.NewReaderSize(io.MultiReader(bytes.NewReader(c.full), unread), longStep)); err != nil {
		return l.cut, err
	}
	return l.cut, into.Read(bufio.NewReaderSize(bytes.NewReader(l.kept), len(l.kept)+1))
}

// longHeader keeps the lines that matter of a header.
type longHeader struct {
	limit  int
	naming [2]string // the headers that may name the client, in lower case
	kept   []byte
	cut    bool
}

// read reads the header to its end.
func (l *longHeader) read(r *bufio.Reader) error {
	if err := l.requestLine(r); err != nil {
		return err
	}
	for {
		begin := len(l.kept)
		line, more, err := r.ReadLine()
		switch {
		case err != nil:
			return err
		case len(line) == 0:
			l.kept = append(l.kept, "\r\n"...)
			return nil
		case line[0] == ' ' || line[0] == '\t':
			return errLong // it goes on with the line before it, which may be one that names the client
		}
		name, _, _ := bytes.Cut(line[:min(len(line), 64)], []byte{':'})
		naming, describes := l.matters(string(bytes.ToLower(bytes.TrimRight(name, " \t"))))
		fits, err := l.line(r, line, more, naming || describes)
		switch {
		case err != nil:
			return err
		case fits:
		case naming:
			return errLong
		default:
			l.kept, l.cut = l.kept[:begin], true
		}
	}
}

// matters says whether a header may name the client, or describes the request.
func (l *longHeader) matters(name string) (naming, describes bool) {
	for _, n := range l.naming {
		naming = naming || n == name
	}
	for _, n := range describing {
		describes = describes || n == name
	}
	return naming, describes
}

// line takes a line to its end, and keeps it if it is wanted and fits.
func (l *longHeader) line(r *bufio.Reader, part []byte, more, wanted bool) (fits bool, err error) {
	fits = true
	for {
		if wanted && fits {
			l.kept = append(l.kept, part...)
			fits = len(l.kept) <= l.limit
		}
		if !more {
			break
		}
		if part, more, err = r.ReadLine(); err != nil {
			return false, err
		}
	}
	if wanted && fits {
		l.kept = append(l.kept, "\r\n"...)
	}
	return fits, nil
}

// requestLine keeps the request line, or the beginning of one that would leave no
// room for others.
func (l *longHeader) requestLine(r *bufio.Reader) error {
	limit := l.limit
	l.limit /= 2
	line, more, err := r.ReadLine()
	if err != nil {
		return err
	}
	fits, err := l.line(r, line, more, true)
	l.limit = limit
	if err != nil || fits {
		return err
	}
	l.cut = true
	method, target, _ := bytes.Cut(l.kept, []byte{' '})
	l.kept = append(bytes.Join([][]byte{method, target[:min(len(target), 64)]}, []byte{' '}), " HTTP/1.1\r\n"...)
	return nil
}
