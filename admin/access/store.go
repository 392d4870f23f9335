package access

import (
	"crypto/sha256"
	"encoding/hex"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// SessionIdle is how long a session lasts without a request, and Longest how long
	// it lasts at all.
	SessionIdle = 12 * time.Hour
	Longest     = 7 * 24 * time.Hour
	// mostSessions bounds those of one role: readers cannot push out operators.
	mostSessions = 512
)

// Secret is what a client shows. It is random and made by the server.
type Secret [32]byte

// hash is all that is kept of a secret.
func (s Secret) hash() [32]byte { return sha256.Sum256(s[:]) }

// Name returns what the secret is called where it must not be shown.
func (s Secret) Name() string {
	hash := s.hash()
	return hex.EncodeToString(hash[:])
}

// Logins is all that a node knows of logins, for all of its addresses.
type Logins struct {
	Sessions *SessionStore
	Links    *LinkStore
	Guesses  *Guesses

	pages atomic.Pointer[[]string]
}

// NewLogins returns one in which nobody has logged in.
func NewLogins() *Logins {
	return &Logins{Sessions: newSessionStore(), Links: newLinkStore(), Guesses: newGuesses()}
}

// SetPages notes the addresses at which the node serves pages over TCP, host:port.
func (l *Logins) SetPages(addresses []string) { l.pages.Store(&addresses) }

// Pages returns them.
func (l *Logins) Pages() []string {
	if all := l.pages.Load(); all != nil {
		return *all
	}
	return nil
}

// Session is one login.
type Session struct {
	Operator bool // else a reader
	// By is the hash of the token that opened it, or for a link the name of the
	// address at which it did.
	By           [32]byte
	Opened, Used time.Time
}

// over reports whether a session has ended by now.
func (s *Session) over(now time.Time) bool {
	return now.Sub(s.Used) >= SessionIdle || now.Sub(s.Opened) >= Longest
}

// entry is a session and what ends with it.
type entry struct {
	Session
	ends map[*func()]struct{}
}

// SessionStore keeps the sessions. It is safe for concurrent use. Make one with
// [newSessionStore].
type SessionStore struct {
	mu   sync.Mutex // guards open
	open map[[32]byte]*entry
}

// newSessionStore returns a store without sessions.
func newSessionStore() *SessionStore { return &SessionStore{open: make(map[[32]byte]*entry)} }

// Open begins a session. If its role has too many, the one that was not used for
// the longest time ends.
func (s *SessionStore) Open(secret Secret, operator bool, by [32]byte, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of, oldest := 0, [32]byte{}
	for hash, e := range s.open {
		switch {
		case e.over(now):
			s.end(hash)
		case e.Operator == operator:
			if of++; of == 1 || e.Used.Before(s.open[oldest].Used) {
				oldest = hash
			}
		}
	}
	if of >= mostSessions {
		s.end(oldest)
	}
	s.open[secret.hash()] = &entry{Session{operator, by, now, now}, make(map[*func()]struct{})}
}

// Find returns the session of a secret and notes that it is used; false if there is
// none, or no more.
func (s *SessionStore) Find(secret Secret, now time.Time) (Session, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	hash := secret.hash()
	e, ok := s.open[hash]
	if !ok {
		return Session{}, false
	}
	if e.over(now) {
		s.end(hash)
		return Session{}, false
	}
	if now.After(e.Used) {
		e.Used = now
	}
	return e.Session, true
}

// Left returns how long a session lasts if nobody uses it; 0 for one that is over,
// which it ends.
func (s *SessionStore) Left(secret Secret, now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	hash := secret.hash()
	e, ok := s.open[hash]
	switch {
	case !ok:
		return 0
	case e.over(now):
		s.end(hash)
		return 0
	}
	return min(e.Used.Add(SessionIdle).Sub(now), e.Opened.Add(Longest).Sub(now))
}

// While has end called when the session ends by Close, CloseOf or CloseAll, by Left or
// for room, and immediately if it has ended: for an answer that goes on. release
// forgets that.
func (s *SessionStore) While(secret Secret, end func()) (release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.open[secret.hash()]
	if !ok {
		end()
		return func() {}
	}
	e.ends[&end] = struct{}{}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(e.ends, &end)
	}
}

// Close ends a session.
func (s *SessionStore) Close(secret Secret) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end(secret.hash())
}

// CloseOf ends the sessions that a token opened.
func (s *SessionStore) CloseOf(by [32]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for hash, e := range s.open {
		if e.By == by {
			s.end(hash)
		}
	}
}

// CloseAll ends all sessions and returns how many there were.
func (s *SessionStore) CloseAll() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.open)
	for hash := range s.open {
		s.end(hash)
	}
	return n
}

// end removes a session and ends what goes on for it. It needs the lock.
func (s *SessionStore) end(hash [32]byte) {
	e, ok := s.open[hash]
	if !ok {
		return
	}
	delete(s.open, hash)
	for end := range e.ends {
		(*end)()
	}
}
