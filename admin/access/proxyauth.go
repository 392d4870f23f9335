package access

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"

	"edgeguard/internal/safetext"
)

// secretHeader is where a proxy over TCP shows its secret.
const secretHeader = "X-Edgeguard-Proxy-Secret"

// mostUser is the longest name of a user, in bytes.
const mostUser = 128

// ProxyAuth is a reverse proxy that logs people in. It is zero for none. The
// proxy must overwrite all headers that are named here: the client can send them,
// too.
type ProxyAuth struct {
	Set bool
	// From are the proxy's addresses and SecretFile holds the secret that it shows
	// beside. A unix socket that is the proxy's own requires neither.
	From       []netip.Prefix
	SecretFile string
	// User and Role are the headers that name the user, and "operator" or
	// "reader".
	User, Role string
}

// isProxy reports whether the proxy sends a request, by its connection and its
// secret.
func (p *Policy) isProxy(r *http.Request) bool {
	from := PeerOf(r)
	if !p.proxy.Set || !from.Unix && !from.within(p.proxy.From) {
		return false
	}
	if p.secret == nil {
		return from.Unix
	}
	shown := r.Header.Values(secretHeader)
	return len(shown) == 1 && p.secret.equals(shown[0])
}

// named returns whom the proxy names; a stranger where it names nobody. A role
// that is missing or unknown is a reader's, so that a client that gets its proxy
// to drop the header gains nothing.
func (p *Policy) named(r *http.Request) (Caller, *Refusal) {
	user, refusal := single(r, p.proxy.User)
	if refusal != nil || user == "" {
		return Caller{Who: PeerOf(r).Who, holds: "nothing"}, refusal
	}
	role, refusal := single(r, p.proxy.Role)
	c := Caller{Role: Reader, User: user, Way: ByProxy, Who: fmt.Sprintf("%s, by the proxy %s", user, PeerOf(r).Who), holds: "the proxy's user " + user}
	if role == "operator" {
		c.Role = Operator
	}
	return c, refusal
}

// single returns the value of a header that may be there once.
func single(r *http.Request, name string) (string, *Refusal) {
	values := r.Header.Values(name)
	if len(values) == 0 {
		return "", nil
	}
	text := strings.TrimSpace(values[0])
	if len(values) > 1 || len(text) > mostUser || !safetext.Plain(text) {
		return "", &Refusal{Reason: "proxy", Status: http.StatusBadRequest, Field: name, Detail: "is given more than once, is longer than 128 bytes, or has control characters", Fix: "have the proxy set it, and remove what the client sends"}
	}
	return text, nil
}

// pretends returns the refusal of a client that sends a header of the proxy and is
// not the proxy: its requests would otherwise be answered as another user's.
func (p *Policy) pretends(r *http.Request) *Refusal {
	if !p.proxy.Set {
		return nil
	}
	for _, name := range []string{p.proxy.User, p.proxy.Role, secretHeader} {
		if len(r.Header.Values(name)) > 0 {
			return &Refusal{Reason: "proxy", Status: http.StatusBadRequest, Field: name, Detail: "is for the proxy, and this client is not the proxy", Fix: "have the proxy ask from an address in proxy_auth.from, with the content of secret_file as " + secretHeader}
		}
	}
	return nil
}
