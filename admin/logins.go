package admin

import (
	"net/http"

	"edgeguard/admin/access"
	"edgeguard/admin/call"
)

// LoginLinks log a browser in as an operator, once: they are one secret, at each
// address at which the node serves pages.
type LoginLinks struct {
	Links   []string `json:"links"`
	Seconds int      `json:"seconds"` // how long they can be used
}

// SessionsEnded says that all browsers are logged out.
type SessionsEnded struct {
	Sessions int `json:"sessions"` // how many there were
}

// addLoginLinks makes a login for who may open the unix socket.
func (s *Server) addLoginLinks(w http.ResponseWriter, r *http.Request) *call.Problem {
	links, lasts := access.NewLinks(r)
	if len(links) == 0 {
		return call.NewProblem(http.StatusConflict, "", "the node serves no pages over TCP", "add an address such as 127.0.0.1:9190 to listen.admin, without `console: false`")
	}
	call.SendJSON(w, http.StatusCreated, LoginLinks{Links: links, Seconds: int(lasts.Seconds())})
	return nil
}

// endSessions logs all browsers out.
func (s *Server) endSessions(w http.ResponseWriter, r *http.Request) *call.Problem {
	call.SendJSON(w, http.StatusOK, SessionsEnded{Sessions: access.EndSessions(w, r)})
	return nil
}
