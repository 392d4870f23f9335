// Package access decides what a client of the admin API may do there.
//
// It knows a client by its connection, the user of a unix socket or the address and
// the token of a TCP client; by what a reverse proxy says of it; or by its session,
// which begins with a token or with a link that works once. It keeps hashes of
// secrets, in memory only, and all of it is bounded: a restart logs everybody out.
// The pages that log in and out are here as well; others draw them.
package access

import (
	"net/http"
	"strings"
	"time"
)

// Policy decides which requests are accepted, before anything is parsed. A way to
// connect makes a client's role, and each route requires one:
//
//	unix socket           operator
//	TCP, tokens set       operator or reader with that token, else stranger
//	loopback, no token    guest
//	the proxy             as it says: reader or operator
//	a session's cookie    as the token that opened it; operator by a link
//
// Profiles over TCP are for loopback only.
//
// It is safe for concurrent use. Make one with [New].
type Policy struct {
	tokens  []*token // at most one of each role
	proxy   ProxyAuth
	secret  *token // the proxy's; nil for none
	origins *http.CrossOriginProtection
	formKey [32]byte // see FormToken
	logins  *Logins
	links   [32]byte // the name of the sessions that links opened here
	now     func() time.Time
	audit   func(by Caller, action, result string)
	refused func(reason string)
}

// Admitted are the clients that are known beside those of a unix socket.
type Admitted struct {
	// TokenFile holds the token of operators and ReaderTokenFile that of readers;
	// empty for none.
	TokenFile, ReaderTokenFile string
	ProxyAuth                  ProxyAuth
	// Logins are shared by all addresses of a node. Nil for its own.
	Logins *Logins
	// Refused counts a login that is refused, by its reason. Nil disables it.
	Refused func(reason string)
	// Now is the time, time.Now if nil. Audit is called on every login and logout,
	// and on too many wrong tokens of one address. Nil disables it.
	Now   func() time.Time
	Audit func(by Caller, action, result string)
}

// New returns a policy, and reads its tokens and the proxy's secret.
func New(c Admitted) (*Policy, error) {
	p := &Policy{proxy: c.ProxyAuth, origins: http.NewCrossOriginProtection(), formKey: newSecret(), links: newSecret(), logins: c.Logins, now: c.Now, audit: c.Audit, refused: c.Refused}
	if p.logins == nil {
		p.logins = NewLogins()
	}
	if p.now == nil {
		p.now = time.Now
	}
	if p.audit == nil {
		p.audit = func(Caller, string, string) {}
	}
	if p.refused == nil {
		p.refused = func(string) {}
	}
	if c.TokenFile != "" {
		p.tokens = append(p.tokens, &token{what: "admin token", file: c.TokenFile, role: Operator})
	}
	if c.ReaderTokenFile != "" {
		p.tokens = append(p.tokens, &token{what: "admin token of readers", file: c.ReaderTokenFile, role: Reader})
	}
	if c.ProxyAuth.SecretFile != "" {
		p.secret = &token{what: "secret of the proxy", file: c.ProxyAuth.SecretFile}
	}
	return p, p.ReadTokens()
}

// ReadTokens reads the tokens and the proxy's secret again, and ends the sessions
// of a token that changed. On an error the previous one of that file, and of those
// after it, stays in use.
func (p *Policy) ReadTokens() error {
	for _, t := range p.tokens {
		before := t.hash.Load()
		if err := t.read(); err != nil {
			return err
		}
		if before != nil && *before != *t.hash.Load() {
			p.logins.Sessions.CloseOf(*before)
		}
	}
	if p.secret != nil {
		return p.secret.read()
	}
	return nil
}

// Refusal is why a request is not accepted.
type Refusal struct {
	Reason string        // one of a few words, for a metric
	Status int           // of HTTP
	Field  string        // the header that is wrong, or ""
	Detail string        // what is wrong
	Fix    string        // what to do about it
	Login  bool          // a login would help
	After  time.Duration // when to try again, or 0
}

// Reasons are those words.
var Reasons = []string{"content", "form", "host", "login", "origin", "profile", "proxied", "proxy", "readonly", "role", "socket", "token"}

// RetryAfter returns after how many seconds to try again, or 0.
func (f *Refusal) RetryAfter() int { return int((f.After + time.Second - 1) / time.Second) }

// Check returns who sends a request, and why it is refused: nil if it is accepted.
// pattern is that of the route.
func (p *Policy) Check(r *http.Request, pattern string) (Caller, *Refusal) {
	needs := Least(r.Method, pattern)
	reading := r.Method == http.MethodGet || r.Method == http.MethodHead
	if refusal := p.foreign(r, reading); refusal != nil {
		return Caller{}, refusal
	}
	door := doors[pattern]
	if needs == Stranger && !door {
		return Caller{}, nil
	}
	c, refusal := p.caller(r)
	c.policy = p
	if door && refusal != nil && refusal.Login {
		refusal = nil
	}
	switch {
	case refusal != nil:
	case c.Role < needs:
		refusal = tooLow(c.Role, needs, r.URL.Path)
	case bySocket[pattern] && c.Way != BySocket:
		refusal = &Refusal{Reason: "socket", Status: http.StatusForbidden, Detail: "this requires the unix socket of the operators", Fix: "use `edgeguard console` on the node's host"}
	case strings.HasPrefix(r.URL.Path, "/debug/") && (!PeerOf(r).local() || p.isProxy(r) || proxied(r) != ""):
		refusal = noProfile
	case !reading:
		refusal = p.content(r, pattern, &c)
	}
	return c, refusal
}

// foreign returns why a request from another site's page is refused.
func (p *Policy) foreign(r *http.Request, reading bool) *Refusal {
	switch {
	case reading && foreignPage(r):
		return &Refusal{Reason: "origin", Status: http.StatusForbidden, Field: "Sec-Fetch-Site", Detail: "a page of another site asks", Fix: "open the address in a tab of its own, or use `edgeguard` or curl"}
	case !reading && p.origins.Check(r) != nil:
		return &Refusal{Reason: "origin", Status: http.StatusForbidden, Detail: "changes from a page of another site are refused", Fix: "use `edgeguard` or curl"}
	}
	return nil
}

// caller finds who sends a request.
func (p *Policy) caller(r *http.Request) (Caller, *Refusal) {
	from := PeerOf(r)
	c := Caller{Who: from.Who, holds: "nothing"}
	byProxy := p.isProxy(r)
	if byProxy {
		if c, refusal := p.named(r); refusal != nil || c.Role > Stranger {
			return c, refusal
		}
	} else if refusal := p.pretends(r); refusal != nil {
		return c, refusal
	}
	if !byProxy && from.loopback && !isLocalHost(r.Host) {
		return c, &Refusal{Reason: "host", Status: http.StatusMisdirectedRequest, Field: "Host", Detail: "is not a name of the loopback address", Fix: "use localhost or 127.0.0.1; a proxy in front must set the Host header"}
	}
	if byProxy || !from.Unix {
		if c, refusal, known := p.credential(r, c); known {
			return c, refusal
		}
	}
	if p.proxy.Set {
		return c, &Refusal{Reason: "login", Status: http.StatusForbidden, Field: p.proxy.User, Detail: "only the proxy's users are admitted here, and this request names none",
			Fix: "ask through the proxy, or over the unix socket of the operators", Login: true}
	}
	if !from.local() {
		return c, &Refusal{Reason: "token", Status: http.StatusForbidden, Detail: "no token is set, so only requests from this host are accepted", Fix: "set token_file"}
	}
	if sign := proxied(r); sign != "" {
		return c, &Refusal{Reason: "proxied", Status: http.StatusForbidden, Detail: sign + " shows that a proxy forwards this request, and all of the proxy's clients would be admitted as users of this host", Fix: "set proxy_auth for this address, or token_file, and have the clients send the token"}
	}
	c.Role = Guest
	if from.Unix {
		c.Role, c.Way, c.User, c.holds = Operator, BySocket, from.user, "the socket"
	}
	return c, nil
}

// credential finds who a token or a cookie shows; known is false where neither is
// required nor shown. A client that shows a token has no cookie read.
func (p *Policy) credential(r *http.Request, c Caller) (_ Caller, refusal *Refusal, known bool) {
	shown, isBearer := bearer(r)
	if !isBearer {
		if c, known = p.sessionOf(r, c); known {
			return c, nil, true
		}
	}
	switch {
	case len(p.tokens) == 0:
		return c, nil, false
	case !isBearer:
		return c, noToken, true
	}
	t, refusal := p.try(r, shown)
	if refusal == nil {
		c.Role, c.Way, c.holds = t.role, ByToken, "the token of "+t.role.String()
	}
	return c, refusal, true
}

var noProfile = &Refusal{Reason: "profile", Status: http.StatusForbidden, Detail: "profiles require the unix socket, or a token on loopback", Fix: "use `curl --unix-socket PATH http://localhost/debug/pprof/…`, or set token_file and ask on loopback"}

// tooLow returns the refusal of a role that may not use a route.
func tooLow(has, needs Role, path string) *Refusal {
	switch {
	case strings.HasPrefix(path, "/debug/"):
		return noProfile
	case has == Reader:
		return &Refusal{Reason: "role", Status: http.StatusForbidden, Detail: "this requires the role operator, and this login is a reader's", Fix: "log in as an operator, or use the unix socket"}
	case needs == Operator:
		return &Refusal{Reason: "readonly", Status: http.StatusForbidden, Detail: "changes over TCP require a login", Fix: "use the unix socket (listen.admin: unix:/run/edgeguard/admin.sock), log a browser in with `edgeguard console`, or set token_file for this address", Login: true}
	}
	return &Refusal{Reason: "login", Status: http.StatusForbidden, Detail: "what operators wrote is not shown without a login", Fix: "use the unix socket, log a browser in with `edgeguard console`, or set token_file for this address", Login: true}
}
