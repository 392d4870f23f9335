package lapi

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// chunk is how many changes are read from the journal at a time: it is locked meanwhile.
const chunk = 512

// errFilter is that a query asks for too much at once.
var errFilter = errors.New("too many items in the query")

// stream answers with everything, or with what changed since the asker's last answer.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, by *asker) {
	query := r.URL.Query()
	f, ok := readFilter(query)
	if !ok {
		answerError(w, http.StatusBadRequest, errFilter.Error())
		return
	}
	if !by.mayAsk(s.Now(), costOfStream) {
		s.tooMuch(w, r, by)
		return
	}
	leave, ok := s.turn(r.Context(), by)
	if !ok {
		w.Header().Set("Retry-After", "10")
		answerError(w, http.StatusServiceUnavailable, "busy with other bouncers: ask again in some seconds")
		return
	}
	defer leave()
	now := s.Now()
	s.Journal.Advance(now)
	last, from := s.Journal.Marks()
	after, known := by.toldUpTo()
	starts := query.Get("startup") == "true"
	whole := starts || !known || after < from
	if whole {
		after = 0
	}
	a := newAnswer(s, w, r, &f, by.kernel, now)
	a.fresh = starts || takesNewAlone(by.agent)
	err := a.stream(after, last)
	by.chargeAnswer(a.sent, a.looked)
	if err == nil && r.Context().Err() == nil {
		by.noteTold(now, last, whole)
	}
}

// turn waits until the asker may be answered. leave is called after that.
func (s *Server) turn(ctx context.Context, by *asker) (leave func(), ok bool) {
	ctx, cancel := context.WithTimeout(ctx, waitForTurn)
	defer cancel()
	select {
	case by.turns <- struct{}{}:
	case <-ctx.Done():
		return nil, false
	}
	select {
	case s.turns <- struct{}{}:
	case <-ctx.Done():
		<-by.turns
		return nil, false
	}
	return func() { <-s.turns; <-by.turns }, true
}

// answerLive answers a question about an address, or a list of all that a query asks for.
func (s *Server) answerLive(w http.ResponseWriter, r *http.Request, by *asker) {
	query := r.URL.Query()
	f, ok := readFilter(query)
	if !ok {
		answerError(w, http.StatusBadRequest, errFilter.Error())
		return
	}
	now := s.Now()
	a := newAnswer(s, w, r, &f, by.kernel, now)
	about := query.Get("ip") + query.Get("range")
	if about != "" {
		p, ok := prefixOf(about)
		if !ok || query.Has("ip") && query.Has("range") {
			answerError(w, http.StatusBadRequest, "unable to convert ip or range: use one address or one prefix")
			return
		}
		if query.Get("contains") != "false" {
			by.noteQuestion(now)
			by.chargeAnswer(a.few(s.Journal.Containing(now, p)), 0)
			return
		}
		f.inside = p
	}
	if !by.mayAsk(now, costOfStream) {
		s.tooMuch(w, r, by)
		return
	}
	leave, ok := s.turn(r.Context(), by)
	if !ok {
		answerError(w, http.StatusServiceUnavailable, "busy with other bouncers: ask again in some seconds")
		return
	}
	defer leave()
	by.noteQuestion(now)
	a.list()
	by.chargeAnswer(a.sent, a.looked)
}

// answerWriter is an answer that is being written.
type answerWriter struct {
	server *Server
	w      http.ResponseWriter
	packed bool // the client takes gzip
	filter *filter
	kernel bool
	fresh  bool // what begins is told as new alone
	now    time.Time

	out   io.Writer
	text  []byte
	names map[string][]byte // of scenarios, as JSON
	sent  int
	// looked is how many changes the filter was asked about.
	looked int
	err    error
}

func newAnswer(s *Server, w http.ResponseWriter, r *http.Request, f *filter, kernel bool, now time.Time) *answerWriter {
	return &answerWriter{
		server: s, w: w, out: w, filter: f, kernel: kernel, now: now, names: make(map[string][]byte),
		packed: strings.Contains(r.Header.Get("Accept-Encoding"), "gzip"),
	}
}

var packers = sync.Pool{New: func() any { p, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed); return p }}

// begin writes the header, and packs what follows if it is long. finish is called at the
// end.
func (a *answerWriter) begin(long bool) (finish func() error) {
	a.w.Header().Set("Content-Type", "application/json")
	if !a.packed || !long {
		return a.end
	}
	a.w.Header().Set("Content-Encoding", "gzip")
	a.w.Header().Set("Vary", "Accept-Encoding")
	packer := packers.Get().(*gzip.Writer)
	packer.Reset(a.w)
	a.out = packer
	return func() error {
		a.flush(0)
		if a.err == nil {
			a.err = packer.Close()
		}
		packers.Put(packer)
		a.out = a.w
		return a.end()
	}
}

// end sends what is left, and returns the first error of all.
func (a *answerWriter) end() error {
	a.flush(0)
	if a.err == nil {
		a.err = http.NewResponseController(a.w).Flush()
	}
	return a.err
}

// flush writes the text if it is longer than that.
func (a *answerWriter) flush(over int) {
	if a.err == nil && len(a.text) > over {
		_, a.err = a.out.Write(a.text)
		a.text = a.text[:0]
	}
}

// stream writes the changes between two numbers.
func (a *answerWriter) stream(after, last uint64) error {
	buffer := make([]Change, 0, chunk)
	_, _, short := a.server.Journal.Between(after, last, buffer)
	finish := a.begin(!short)
	a.text = append(a.text, `{"new":[`...)
	a.each(after, last, buffer, func(c *Change) (told, live bool) {
		_, begun := c.EndedAndBegun(a.kernel, a.fresh)
		return begun, true
	})
	a.text = append(a.text, `],"deleted":[`...)
	a.each(after, last, buffer, func(c *Change) (told, live bool) {
		ended, _ := c.EndedAndBegun(a.kernel, a.fresh)
		return ended, false
	})
	a.text = append(a.text, `]}`...)
	return finish()
}

// each writes the decisions of the changes between two numbers that are to be told, as
// live or ended.
func (a *answerWriter) each(after, last uint64, buffer []Change, tells func(*Change) (told, live bool)) {
	first := true
	for done := false; !done && a.err == nil; {
		buffer, after, done = a.server.Journal.Between(after, last, buffer[:0])
		a.looked += len(buffer)
		for i := range buffer {
			if told, live := tells(&buffer[i]); told && a.filter.passes(&buffer[i]) {
				a.decision(&buffer[i], live, first)
				first = false
			}
		}
	}
}

// list writes all decisions in force that the filter passes, or null.
func (a *answerWriter) list() {
	last, _ := a.server.Journal.Marks()
	finish := a.begin(true)
	a.text = append(a.text, '[')
	a.each(0, last, make([]Change, 0, chunk), func(c *Change) (told, live bool) {
		return a.inForce(c), true
	})
	if a.sent == 0 {
		a.text = append(a.text[:0], "null"...)
	} else {
		a.text = append(a.text, ']')
	}
	_ = finish() // who has gone away needs no answer
}

func (a *answerWriter) inForce(c *Change) bool {
	return c.Live && a.now.Before(c.Until) && !(a.kernel && c.Proxied)
}

// few writes those decisions that the filter passes, or null. It returns how many.
func (a *answerWriter) few(all []Change) int {
	finish := a.begin(false)
	a.text = append(a.text, '[')
	for i := range all {
		if a.inForce(&all[i]) && a.filter.passes(&all[i]) {
			a.decision(&all[i], true, a.sent == 0)
		}
	}
	if a.sent == 0 {
		a.text = append(a.text[:0], "null"...)
	} else {
		a.text = append(a.text, ']')
	}
	_ = finish() // who has gone away needs no answer
	return a.sent
}
