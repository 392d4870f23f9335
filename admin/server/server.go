// Package server answers the admin API to whoever may ask: over TCP, over a unix
// socket, to programs, to the pages of the console.
//
// What it answers is of package admin; the routes, their handlers, the event stream
// are here. It is not on the path of a request, and where it fails the node goes on
// deciding.
//
// Who may do what depends on how they come. Over a unix socket the file's mode
// decides, and all is allowed. Over TCP a token is asked for, if there is one;
// without one the node listens on loopback only, and no client can change
// anything or see what operators wrote. A foreign page is kept out of it: changes
// require a JSON content type, nothing is answered to another origin's page,
// loopback requires a local Host, and forms carry a token. Package access decides
// it, by a role for each route.
package server

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"time"

	"edgeguard/admin"
	"edgeguard/admin/access"
	"edgeguard/admin/call"
	"edgeguard/admin/watch"
)

// defaultConnections is twice the streams that there may be.
const defaultConnections = 2 * watch.MostStreams

// Config is what a server shows, and who may see it.
type Config struct {
	// View is shared by all servers of a node, and so are its looks at every key.
	View     *admin.View
	Operator admin.Operator
	// TokenFile holds the token of operators that come over TCP, ReaderTokenFile
	// that of readers; empty for none. ProxyAuth is the reverse proxy that logs
	// people in. New and ReadTokens read the files.
	TokenFile, ReaderTokenFile string
	ProxyAuth                  access.ProxyAuth
	// Logins are shared by all servers of a node. Nil for its own.
	Logins *access.Logins
	// Audit is called on every manual action. Nil disables it.
	Audit func(admin.Audit)
	// Metrics answers /metrics.
	Metrics Metrics
	// Document makes the answer of /api/v1/openapi.json of all routes, which is JSON.
	// Nil leaves it out.
	Document func(routes []string) ([]byte, error)
	// Pages returns more routes by their patterns: pages that show a view and offer
	// changes. It is called for what everybody may see, and for clients without a
	// login, then without changes. Nil for none.
	Pages func(*admin.View, *admin.Changes) map[string]http.Handler
	// Connections bounds the open connections of each listener. For one more
	// another is closed, see package lobby. 0 means 512.
	Connections int
	// Log receives the errors of net/http. Nil discards them.
	Log *slog.Logger
}

// Metrics shows the node's figures to Prometheus. Package metrics implements it.
type Metrics interface {
	http.Handler
	// Refused counts a request that was refused, by one of a few reasons.
	Refused(reason string)
}

// Server answers the admin API on its listeners; it refuses one that strangers
// could reach without a token. It is safe for concurrent use. Make one with [New].
type Server struct {
	*BoundedServer
	config   Config
	access   *access.Policy
	changes  *admin.Changes
	document []byte // nil for none
}

// New makes a server and reads its token. It does not listen yet.
func New(c Config) (*Server, error) {
	s := &Server{config: c}
	if s.config.Connections == 0 {
		s.config.Connections = defaultConnections
	}
	if s.config.Audit == nil {
		s.config.Audit = func(admin.Audit) {}
	}
	s.changes = admin.NewChanges(c.View, c.Operator, s.config.Audit)
	var err error
	s.access, err = access.New(access.Admitted{
		TokenFile: c.TokenFile, ReaderTokenFile: c.ReaderTokenFile, ProxyAuth: c.ProxyAuth,
		Logins: c.Logins, Now: func() time.Time { return c.View.Reader().Now() }, Audit: s.changes.Login,
		Refused: func(reason string) { s.config.Metrics.Refused(reason) },
	})
	if err != nil {
		return nil, err
	}
	if c.Document != nil {
		if s.document, err = c.Document(s.Routes()); err != nil {
			return nil, err
		}
	}
	s.BoundedServer = &BoundedServer{
		Handler: s.checkAccess(s.routes(c.View, s.changes), s.routes(c.View.ForGuests(), nil)), MayListen: s.access.MayListen,
		Connected: access.WithPeer, Places: s.config.Connections, Log: c.Log,
	}
	return s, nil
}

// ReadTokens reads the tokens again; call it on every reload. On an error the
// previous ones stay in use.
func (s *Server) ReadTokens() error { return s.access.ReadTokens() }

// getDocument sends the description of the API for programs.
func (s *Server) getDocument(w http.ResponseWriter, _ *http.Request) *call.Problem {
	if s.document == nil {
		return call.NewProblem(http.StatusNotFound, "", "this server does not describe its API", "see docs/api.md")
	}
	call.SendJSON(w, http.StatusOK, json.RawMessage(s.document))
	return nil
}
