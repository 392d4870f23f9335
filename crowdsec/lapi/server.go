// Package lapi answers bouncers of CrowdSec as CrowdSec's local API does, as far as
// bouncers use it. They ask what to block, as a whole and as changes, and about one address.
//
// Whoever has a key can read all decisions, and nothing else: he changes nothing, and
// what his questions cost is bounded, by key.
package lapi

import (
	"encoding/json"
	"io"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"
)

const (
	// mostQuery is the most bytes that a query may have.
	mostQuery = 4 << 10
	// mostReport is the most bytes of a bouncer's figures that are read.
	mostReport = 1 << 20
	// mostTurns is how many streams are written at a time, of all keys and of one key.
	mostTurns, mostTurnsOfKey = 16, 4
	// waitForTurn is how long a question waits for that.
	waitForTurn = 10 * time.Second
	// mostOpen is how many requests of one key are answered or wait: one of each address
	// that is known. Each has a connection, and one key must not have them all.
	mostOpen = mostMarks
)

// Config is what a server uses.
type Config struct {
	Keys    *Keys
	Journal *Journal
	Now     func() time.Time // of the decisions
}

// Server answers bouncers. It is safe for concurrent use. Make one with [New].
type Server struct {
	Config
	pulls   pulls
	turns   chan struct{}
	refused atomic.Uint64
}

// New returns a server.
func New(c Config) *Server {
	return &Server{Config: c, turns: make(chan struct{}, mostTurns), pulls: pulls{all: make(map[string]*account)}}
}

// Refused returns how many requests showed no key, or a wrong one.
func (s *Server) Refused() uint64 { return s.refused.Load() }

// asker is who asks, with its key.
type asker struct {
	*account
	addr   netip.Addr
	agent  string
	kernel bool // it filters packets
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	if r.URL.Path == "/health" {
		unread(w, r)
		answer(w, http.StatusOK, map[string]string{"status": "up"})
		return
	}
	key, ok := s.Keys.FindShown(r.Header.Get("X-Api-Key"))
	if !ok {
		s.refused.Add(1)
		unread(w, r)
		w.Header().Set("Connection", "close") // each guess costs its client a connection
		answerError(w, http.StatusForbidden, "access forbidden")
		return
	}
	by := asker{account: s.pulls.account(key.Name, s.Now()), agent: agentOf(r.UserAgent())}
	by.kernel = key.Kernel == Yes || key.Kernel == Auto && filtersPackets(by.agent)
	if from, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		by.addr = from.Addr().Unmap()
	}
	if !by.mayAsk(s.Now(), costOfRequest) {
		s.tooMuch(w, r, &by)
		return
	}
	select {
	case by.open <- struct{}{}:
	default:
		s.tooMuch(w, r, &by)
		return
	}
	defer func() { <-by.open }()
	if _, err := io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, mostReport)); err != nil {
		answerError(w, http.StatusRequestEntityTooLarge, "the metrics are too long, or were cut off")
		return
	}
	s.route(w, r, &by)
}

// unread has nobody wait for the body of a request that is refused. net/http reads it
// before it answers, and meanwhile the connection is one that is being answered, which
// makes room for no other: whoever announced bodies and sent none would have them all.
func unread(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now())
	}
}

// route answers who has a key.
func (s *Server) route(w http.ResponseWriter, r *http.Request, by *asker) {
	method, known := map[string]string{"/v1/decisions/stream": http.MethodGet, "/v1/decisions": http.MethodGet, "/v1/usage-metrics": http.MethodPost}[r.URL.Path]
	switch {
	case !known:
		answerError(w, http.StatusNotFound, "not found: edgeguard answers bouncers only")
	case r.Method != method && (r.Method != http.MethodHead || method != http.MethodGet):
		answerError(w, http.StatusMethodNotAllowed, "method not allowed")
	case r.Method == http.MethodHead: // as CrowdSec, it asks for nothing
		w.WriteHeader(http.StatusOK)
	case method == http.MethodPost:
		by.reported() // its figures were read and are of no use here
		w.WriteHeader(http.StatusCreated)
	case len(r.URL.RawQuery) > mostQuery:
		answerError(w, http.StatusRequestURITooLong, "the query is too long")
	case r.URL.Path == "/v1/decisions":
		s.answerLive(w, r, by)
	default:
		s.stream(w, r, by)
	}
}

// tooMuch refuses who asks for more than his share.
func (s *Server) tooMuch(w http.ResponseWriter, r *http.Request, by *asker) {
	by.limit()
	unread(w, r)
	w.Header().Set("Retry-After", "10")
	answerError(w, http.StatusTooManyRequests, "this key asks for too much: ask again in some seconds")
}

// answerError answers as CrowdSec does about an error.
func answerError(w http.ResponseWriter, status int, message string) {
	answer(w, status, map[string]string{"message": message})
}

func answer(w http.ResponseWriter, status int, value map[string]string) {
	text, _ := json.Marshal(value)
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(text) // who has gone away needs no answer
}
