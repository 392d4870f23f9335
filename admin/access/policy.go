// Package access decides who may connect to the admin API, and what they may do
// there. It knows a client by its connection: the user of a unix socket, or the
// address and the token of a TCP client. It answers nothing: package admin sends
// the refusals.
package access

import (
	"net/http"
	"strings"
)

// Policy decides which requests are accepted, before anything is parsed. A way to
// connect makes a client's role, and each route requires one:
//
//	unix socket           operator
//	TCP, tokens set       operator or reader with that token, else stranger
//	loopback, no token    guest
//	the proxy             as it says: reader or operator
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
}

// Admitted are the clients that are known beside those of a unix socket.
type Admitted struct {
	// TokenFile holds the token of operators and ReaderTokenFile that of readers;
	// empty for none.
	TokenFile, ReaderTokenFile string
	ProxyAuth                  ProxyAuth
}

// New returns a policy, and reads its tokens and the proxy's secret.
func New(c Admitted) (*Policy, error) {
	p := &Policy{proxy: c.ProxyAuth, origins: http.NewCrossOriginProtection(), formKey: newFormKey()}
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

// ReadTokens reads the tokens and the proxy's secret again. On an error the
// previous one of that file, and of those after it, stays in use.
func (p *Policy) ReadTokens() error {
	for _, t := range p.tokens {
		if err := t.read(); err != nil {
			return err
		}
	}
	if p.secret != nil {
		return p.secret.read()
	}
	return nil
}

// shown returns the role of the token in an Authorization header: that of readers,
// should both be the same word. All tokens are compared, whichever it is.
func (p *Policy) shown(authorization string) Role {
	role := Stranger
	for _, t := range p.tokens {
		if t.is(authorization) {
			role = t.role
		}
	}
	return role
}

// Refusal is why a request is not accepted.
type Refusal struct {
	Reason string // one of a few words, for a metric
	Status int    // of HTTP
	Field  string // the header that is wrong, or ""
	Detail string // what is wrong
	Fix    string // what to do about it
}

// Check returns who sends a request, and why it is refused: nil if it is accepted.
// pattern is that of the route.
func (p *Policy) Check(r *http.Request, pattern string) (Caller, *Refusal) {
	needs := Least(r.Method, pattern)
	reading := r.Method == http.MethodGet || r.Method == http.MethodHead
	if refusal := p.foreign(r, reading); refusal != nil {
		return Caller{}, refusal
	}
	if needs == Stranger {
		return Caller{}, nil
	}
	c, refusal := p.caller(r)
	c.policy = p
	switch {
	case refusal != nil:
	case c.Role < needs:
		refusal = tooLow(c.Role, needs, r.URL.Path)
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
		return &Refusal{"origin", http.StatusForbidden, "Sec-Fetch-Site", "a page of another site asks", "open the address in a tab of its own, or use `edgeguard` or curl"}
	case !reading && p.origins.Check(r) != nil:
		return &Refusal{"origin", http.StatusForbidden, "", "changes from a page of another site are refused", "use `edgeguard` or curl"}
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
		return c, &Refusal{"host", http.StatusMisdirectedRequest, "Host", "is not a name of the loopback address", "use localhost or 127.0.0.1; a proxy in front must set the Host header"}
	}
	if len(p.tokens) > 0 && (byProxy || !from.Unix) {
		if c.Role = p.shown(r.Header.Get("Authorization")); c.Role == Stranger {
			return c, &Refusal{"token", http.StatusUnauthorized, "Authorization", "the token is missing or wrong", "send `Authorization: Bearer TOKEN`, or use the unix socket"}
		}
		c.Way, c.holds = ByToken, "the token of "+c.Role.String()
		return c, nil
	}
	if p.proxy.Set {
		return c, &Refusal{"login", http.StatusForbidden, p.proxy.User, "only the proxy's users are admitted here, and this request names none", "ask through the proxy, or over the unix socket of the operators"}
	}
	if !from.local() {
		return c, &Refusal{"token", http.StatusForbidden, "", "no token is set, so only requests from this host are accepted", "set token_file"}
	}
	if sign := proxied(r); sign != "" {
		return c, &Refusal{"proxied", http.StatusForbidden, "", sign + " shows that a proxy forwards this request, and all of the proxy's clients would be admitted as users of this host",
			"set proxy_auth for this address, or token_file, and have the clients send the token"}
	}
	c.Role = Guest
	if from.Unix {
		c.Role, c.Way, c.User, c.holds = Operator, BySocket, from.user, "the socket"
	}
	return c, nil
}

var noProfile = &Refusal{"profile", http.StatusForbidden, "", "profiles require the unix socket, or a token on loopback", "use `curl --unix-socket PATH http://localhost/debug/pprof/…`, or set token_file and ask on loopback"}

// tooLow returns the refusal of a role that may not use a route.
func tooLow(has, needs Role, path string) *Refusal {
	switch {
	case strings.HasPrefix(path, "/debug/"):
		return noProfile
	case has == Reader:
		return &Refusal{"role", http.StatusForbidden, "", "this requires the role operator, and this login is a reader's", "log in as an operator, or use the unix socket"}
	case needs == Operator:
		return &Refusal{"readonly", http.StatusForbidden, "", "changes over TCP require a token", "add a unix socket to listen.admin (unix:/run/edgeguard/admin.sock), or set token_file for this address"}
	}
	return &Refusal{"login", http.StatusForbidden, "", "what operators wrote is not shown without a token", "use the unix socket, or set token_file for this address"}
}
