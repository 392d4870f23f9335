// Package access decides who may connect to the admin API, and what they may do
// there. It knows a client by its connection: the user of a unix socket, or the
// address and the token of a TCP client. It answers nothing: package admin sends
// the refusals.
package access

import (
	"mime"
	"net/http"
	"strings"
)

// Policy decides which requests are accepted, before anything is parsed:
//
//	                 unix socket   TCP, token set        loopback, no token
//	/healthz, /readyz   yes            yes                    yes
//	reading             yes            with the token         yes
//	writing             yes            with the token         no
//	profiles            yes            loopback and token     no
//
// It is safe for concurrent use. Make one with [New].
type Policy struct {
	token   *token // nil for none
	origins *http.CrossOriginProtection
}

// New returns a policy with the token of a file; an empty name means no token.
func New(tokenFile string) (*Policy, error) {
	p := &Policy{origins: http.NewCrossOriginProtection()}
	if tokenFile != "" {
		p.token = &token{file: tokenFile}
	}
	return p, p.ReadToken()
}

// ReadToken reads the token file again. On an error the previous token stays in
// use.
func (p *Policy) ReadToken() error {
	if p.token == nil {
		return nil
	}
	return p.token.read()
}

// HasToken reports whether TCP clients must show a token.
func (p *Policy) HasToken() bool { return p.token != nil }

// Refusal is why a request is not accepted.
type Refusal struct {
	Reason string // one of a few words, for a metric
	Status int    // of HTTP
	Field  string // the header that is wrong, or ""
	Detail string // what is wrong
	Fix    string // what to do about it
}

// Check returns why a request is refused, nil if it is accepted.
func (p *Policy) Check(r *http.Request) *Refusal {
	if refusal := p.refusal(r); refusal != nil {
		return refusal
	}
	if p.origins.Check(r) != nil {
		return &Refusal{"origin", http.StatusForbidden, "", "changes from a page of another site are refused", "use `edgeguard` or curl"}
	}
	return nil
}

func (p *Policy) refusal(r *http.Request) *Refusal {
	if r.URL.Path == "/healthz" || r.URL.Path == "/readyz" {
		return nil
	}
	from := PeerOf(r)
	reading := r.Method == http.MethodGet || r.Method == http.MethodHead
	switch {
	case from.loopback && !isLocalHost(r.Host):
		return &Refusal{"host", http.StatusMisdirectedRequest, "Host", "is not a name of the loopback address", "use localhost or 127.0.0.1; a proxy in front must set the Host header"}
	case from.Unix:
	case p.token != nil && !p.token.is(r.Header.Get("Authorization")):
		return &Refusal{"token", http.StatusUnauthorized, "Authorization", "the token is missing or wrong", "send `Authorization: Bearer TOKEN`, or use the unix socket"}
	case p.token == nil && !from.loopback:
		return &Refusal{"token", http.StatusForbidden, "", "no token is set, so only requests from this host are accepted", "set token_file"}
	case p.token == nil && !reading:
		return &Refusal{"readonly", http.StatusForbidden, "", "changes over TCP require a token", "add a unix socket to listen.admin (unix:/run/edgeguard/admin.sock), or set token_file for this address"}
	case strings.HasPrefix(r.URL.Path, "/debug/") && (p.token == nil || !from.loopback):
		return &Refusal{"profile", http.StatusForbidden, "", "profiles require the unix socket, or a token on loopback", "use `curl --unix-socket PATH http://localhost/debug/pprof/…`, or set token_file and ask on loopback"}
	}
	if !reading && !isJSON(r.Header.Get("Content-Type")) {
		return &Refusal{"content", http.StatusUnsupportedMediaType, "Content-Type", "changes must be JSON", "send `Content-Type: application/json`"}
	}
	return nil
}

func isJSON(contentType string) bool {
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && media == "application/json"
}
