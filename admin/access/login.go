package access

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// sessionOf returns the caller of a browser that is logged in at this address.
func (p *Policy) sessionOf(r *http.Request, c Caller) (Caller, bool) {
	for _, secret := range shownSecrets(r) {
		s, ok := p.logins.Sessions.Find(secret, p.now())
		if !ok || !p.opens(s.By) {
			continue
		}
		c.Role, c.Way, c.session, c.holds = Reader, BySession, &secret, "the session "+secret.Name()
		if s.Operator {
			c.Role = Operator
		}
		return c, true
	}
	return c, false
}

// opens reports whether sessions by a token or a link count at this address: those
// of another address with another token do not, nor those of a former token.
func (p *Policy) opens(by [32]byte) bool {
	return by == p.links || slices.ContainsFunc(p.tokens, func(t *token) bool { return *t.hash.Load() == by })
}

// try returns the token that a client shows, or why it logs nobody in.
func (p *Policy) try(r *http.Request, shown string) (*token, *Refusal) {
	var found *token
	for _, t := range p.tokens { // that of readers, should both be the same word
		if t.equals(shown) {
			found = t
		}
	}
	hash := hashOf(shown)
	wait, report := p.logins.Guesses.Try(PeerOf(r).addr, binary.BigEndian.Uint64(hash[:]), found != nil, p.now())
	switch {
	case wait > 0:
		return nil, &Refusal{Reason: "login", Status: http.StatusTooManyRequests, Field: "Authorization", Detail: "too many wrong tokens came from this address",
			Fix: "wait, use the unix socket, or log in with a link of `edgeguard console`", After: wait}
	case report:
		p.audit(Caller{Who: PeerOf(r).Who}, "login", "too many wrong tokens: this address has to wait")
	}
	if found == nil {
		return nil, noToken
	}
	return found, nil
}

var noToken = &Refusal{Reason: "token", Status: http.StatusUnauthorized, Field: "Authorization", Detail: "the token is missing or wrong",
	Fix: "send `Authorization: Bearer TOKEN`, or use the unix socket", Login: true}

// takesTokens reports whether a browser can log in with a token at the address at
// which it asks.
func takesTokens(r *http.Request) bool {
	p := CallerOf(r).policy
	return p != nil && len(p.tokens) > 0
}

// logIn begins a session for who shows a token.
func logIn(w http.ResponseWriter, r *http.Request, shown string) *Refusal {
	p := CallerOf(r).policy
	t, refusal := p.try(r, shown)
	if refusal != nil {
		p.refused(refusal.Reason)
		return refusal
	}
	p.begin(w, r, t.role, hashOf(shown))
	return nil
}

// useLink begins an operator's session for who shows a link, and reports whether it
// is one.
func useLink(w http.ResponseWriter, r *http.Request, link string) bool {
	p := CallerOf(r).policy
	secret, ok := parseSecret(link)
	if !ok || !p.logins.Links.Use(secret, p.now()) {
		return false
	}
	p.begin(w, r, Operator, p.links)
	return true
}

// begin begins a session with a secret of its own, and ends the one before.
func (p *Policy) begin(w http.ResponseWriter, r *http.Request, role Role, by [32]byte) {
	p.endShown(r)
	secret := newSecret()
	p.logins.Sessions.Open(secret, role == Operator, by, p.now())
	setCookie(w, r, writeSecret(secret))
	p.audit(Caller{Who: PeerOf(r).Who, Role: role, Way: BySession}, "login", "ok")
}

// logOut ends the caller's session.
func logOut(w http.ResponseWriter, r *http.Request) {
	c := CallerOf(r)
	c.policy.endShown(r)
	setCookie(w, r, "")
	if c.session != nil {
		c.policy.audit(c, "logout", "ok")
	}
}

func (p *Policy) endShown(r *http.Request) {
	for _, secret := range shownSecrets(r) {
		p.logins.Sessions.Close(secret)
	}
}

// endSessions ends all sessions of the node and makes its links useless. It returns
// how many sessions there were.
func endSessions(w http.ResponseWriter, r *http.Request) int {
	c := CallerOf(r)
	c.policy.logins.Links.Clear()
	n := c.policy.logins.Sessions.CloseAll()
	setCookie(w, r, "")
	c.policy.audit(c, "end sessions", "ok")
	return n
}

// newLinks returns what logs an operator in once, at one of the addresses at which
// the node serves pages over TCP, and how long it does.
func newLinks(r *http.Request) (links []string, lasts time.Duration) {
	c := CallerOf(r)
	secret := newSecret()
	for _, address := range c.policy.logins.Pages() {
		links = append(links, "http://"+address+"/login?link="+writeSecret(secret))
	}
	if len(links) > 0 {
		c.policy.logins.Links.Add(secret, c.policy.now())
		c.policy.audit(c, "login link", "ok")
	}
	return links, LinkLasts
}

func newSecret() (s Secret) {
	_, _ = rand.Read(s[:]) // never fails: see crypto/rand
	return s
}

// never is longer than any session.
const never = 2 * Longest

// During returns a context that ends with the caller's session, for an answer that
// goes on. end releases it.
func (c *Caller) During(ctx context.Context) (_ context.Context, end func()) {
	if c.session == nil {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	sessions, secret := c.policy.logins.Sessions, *c.session
	release := sessions.While(secret, cancel)
	var timer *time.Timer
	timer = time.AfterFunc(never, func() {
		if left := sessions.Left(secret, c.policy.now()); left > 0 { // it was used since
			timer.Reset(left)
		}
	})
	timer.Reset(sessions.Left(secret, c.policy.now())) // not before timer is set
	return ctx, func() {
		timer.Stop()
		release()
		cancel()
	}
}

// showsPage reports whether a browser shows the answer of a route as a page. What does not
// exist is one too: without a login nobody learns what does.
func showsPage(r *http.Request, pattern string) bool {
	return (isPage(r, pattern) || pattern == "/" && !strings.HasPrefix(r.URL.Path, "/api/")) && strings.Contains(r.Header.Get("Accept"), "text/html")
}

// LoginPage returns where a browser goes that asks for a page and is not logged in.
func (f *Refusal) LoginPage(r *http.Request, pattern string) (path string, ok bool) {
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	if !f.Login || !reads || !showsPage(r, pattern) {
		return "", false
	}
	return "/login?next=" + url.QueryEscape(r.URL.RequestURI()), true
}
