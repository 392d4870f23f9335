package access

import (
	"cmp"
	"context"
	"net/http"
	"net/netip"
	"strings"
)

// Role is what a client may do: all that the roles before it may, and more.
type Role uint8

const (
	// Stranger may ask for the node's health.
	Stranger Role = iota
	// Guest is a client from this host without a login. It may read, but not what
	// operators wrote: notes can hold names and contracts.
	Guest
	// Reader has a login and may read everything.
	Reader
	// Operator may change the node, too.
	Operator
)

// least is the least role that may use a route: a method and a pattern of
// http.ServeMux. HEAD is as GET. A route that is not listed requires an operator,
// so that a forgotten row opens nothing; a test lists all routes.
var least = map[string]Role{
	"GET /healthz": Stranger,
	"GET /readyz":  Stranger,

	"GET /login":                           Stranger,
	"POST /login":                          Stranger,
	"POST /logout":                         Stranger,
	"GET /console/assets/{version}/{name}": Stranger, // the same for all nodes of a version

	"GET /metrics":                     Guest,
	"GET /api/v1/openapi.json":         Guest,
	"GET /api/v1/status":               Guest,
	"GET /api/v1/fleet":                Guest,
	"GET /api/v1/fleet/held":           Guest,
	"GET /api/v1/blocks":               Guest,
	"GET /api/v1/blocks/{prefix...}":   Guest,
	"GET /api/v1/held":                 Guest,
	"GET /api/v1/allow":                Guest,
	"GET /api/v1/clients":              Guest,
	"GET /api/v1/imports":              Guest,
	"GET /api/v1/explain/{address}":    Guest,
	"GET /api/v1/evidence/{prefix...}": Guest,
	"GET /api/v1/rates":                Guest,
	"GET /api/v1/rates/day":            Guest,
	"GET /api/v1/rules":                Guest,
	"GET /api/v1/rules/{name}":         Guest,
	"GET /api/v1/rules/{name}/outcome": Guest,
	"GET /api/v1/rules/{name}/history": Guest,
	"GET /api/v1/rules/{name}/key":     Guest,
	"GET /api/v1/top":                  Guest,
	"GET /api/v1/events":               Guest,
	"GET /api/v1/history":              Guest,
	"GET /api/v1/attacks":              Guest,
	"GET /api/v1/attacks/{id}":         Guest,
	"GET /api/v1/watch":                Guest,
	"GET /":                            Guest, // what does not exist

	"GET /api/v1/audit":               Reader, // notes, and who wrote them
	"GET /api/v1/bouncers":            Reader, // where they are
	"GET /api/v1/samples/{prefix...}": Reader, // or Operator, as the config says

	"GET /{$}":                 Guest,
	"GET /find":                Guest,
	"GET /welcome":             Guest,
	"GET /blocked":             Guest,
	"GET /blocked/near":        Guest,
	"GET /blocked/held":        Guest,
	"GET /changes":             Guest,
	"GET /help":                Guest,
	"GET /help/{page...}":      Guest,
	"GET /near":                Guest,
	"GET /address/{address}":   Guest,
	"GET /network/{prefix...}": Guest,
	"GET /attacks/{id}":        Guest,
	"GET /rules":               Guest,
	"GET /rules/{name}":        Guest,
	"GET /allowed":             Guest,
	"GET /held":                Guest,
	"GET /fleet":               Guest,
	"GET /neighbours":          Guest,
	"GET /activity":            Guest,
	"GET /about":               Guest,
	"GET /health":              Guest,

	"GET /api/v1/kernel": Reader, // addresses of operators

	"POST /api/v1/bouncers":               Operator,
	"DELETE /api/v1/bouncers/{name}":      Operator,
	"POST /api/v1/kernel/try":             Operator,
	"POST /api/v1/kernel/confirm":         Operator,
	"POST /api/v1/kernel/clear":           Operator,
	"POST /api/v1/kernel/resume":          Operator,
	"POST /api/v1/fleet/sign":             Operator,
	"POST /api/v1/blocks":                 Operator,
	"DELETE /api/v1/blocks":               Operator,
	"POST /api/v1/blocks/import":          Operator,
	"PATCH /api/v1/blocks/{prefix...}":    Operator,
	"DELETE /api/v1/blocks/{prefix...}":   Operator,
	"POST /api/v1/held/confirm":           Operator,
	"POST /api/v1/allow":                  Operator,
	"DELETE /api/v1/allow":                Operator,
	"POST /api/v1/allow/import":           Operator,
	"POST /api/v1/audit/{batch}/undo":     Operator,
	"POST /api/v1/imports/{name}/confirm": Operator,
	"DELETE /api/v1/allow/{prefix...}":    Operator,
	"POST /api/v1/clients":                Operator,
	"DELETE /api/v1/clients/{prefix...}":  Operator,
	"POST /api/v1/reload":                 Operator,
	"POST /api/v1/login-links":            Operator,
	"DELETE /api/v1/sessions":             Operator,

	"POST /sessions/end": Operator,

	"PATCH /api/v1/rules/{name}":                         Operator,
	"DELETE /api/v1/rules/{name}/overlay":                Operator,
	"PUT /api/v1/rules/{name}/candidates/{threshold}":    Operator,
	"DELETE /api/v1/rules/{name}/candidates/{threshold}": Operator,

	// Each is a page that asks, and the form that it sends.
	"GET /allow":       Operator,
	"POST /allow":      Operator,
	"GET /block":       Operator,
	"POST /block":      Operator,
	"GET /confirm":     Operator,
	"POST /confirm":    Operator,
	"GET /disallow":    Operator,
	"POST /disallow":   Operator,
	"GET /extend":      Operator,
	"POST /extend":     Operator,
	"GET /unblock":     Operator,
	"POST /unblock":    Operator,
	"GET /withdraw":    Operator,
	"POST /withdraw":   Operator,
	"POST /undo":       Operator,
	"POST /neighbours": Operator,

	"GET /rules/{name}/threshold":   Operator,
	"POST /rules/{name}/threshold":  Operator,
	"POST /rules/{name}/candidates": Operator,
	"POST /rules/{name}/overlay":    Operator,

	// Profiles show addresses of memory: also from this host only.
	"GET /debug/pprof/":        Operator,
	"GET /debug/pprof/cmdline": Operator,
	"GET /debug/pprof/profile": Operator,
	"GET /debug/pprof/symbol":  Operator,
	"GET /debug/pprof/trace":   Operator,
}

// doors are the routes for clients that have no login yet. Other than health, they
// are only for those that would be admitted with one.
var doors = map[string]bool{
	"GET /login": true, "POST /login": true, "POST /logout": true, "GET /console/assets/{version}/{name}": true,
}

// bySocket are the routes for operators over the unix socket alone: who stole a
// token or a cookie must not be able to make logins that outlive it.
var bySocket = map[string]bool{"/api/v1/login-links": true}

// Least returns the least role that may use a route: the method of a request and
// the pattern that matches it, with or without a method before the path.
func Least(method, pattern string) Role {
	if _, path, ok := strings.Cut(pattern, " "); ok {
		pattern = path
	}
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if role, ok := least[method+" "+pattern]; ok {
		return role
	}
	return Operator
}

// String returns a role's name.
func (r Role) String() string {
	return [...]string{"stranger", "guest", "reader", "operator"}[r]
}

// The ways in which a caller shows who it is. A guest has none.
const (
	BySocket  = "socket"
	ByToken   = "token"
	BySession = "session"
	ByProxy   = "proxy"
)

// Caller is who sends a request.
type Caller struct {
	Role Role
	// Who names the caller in the audit: as Peer.Who, and the user where it is
	// known.
	Who string
	// User is the proxy's user, or "uid 0" over a unix socket; empty where only
	// the role is known. Way is one of the ways above, or empty.
	User, Way string

	policy  *Policy
	holds   string  // the credential, to which forms are bound
	session *Secret // nil for none
}

// Person names the caller to people: the user, or where only the role is known the address without its port.
func (c *Caller) Person() string {
	if at, err := netip.ParseAddrPort(c.Who); err == nil && c.User == "" {
		return at.Addr().String()
	}
	return cmp.Or(c.User, c.Who)
}

type callerKey struct{}

// WithCaller keeps a request's caller.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerOf returns a request's caller; a stranger where nothing is known.
func CallerOf(r *http.Request) Caller {
	c, _ := r.Context().Value(callerKey{}).(Caller)
	return c
}
