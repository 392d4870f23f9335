package access

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

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

// AnswerLinks makes a login for who may open the unix socket.
func AnswerLinks(w http.ResponseWriter, r *http.Request) *call.Problem {
	links, lasts := newLinks(r)
	if len(links) == 0 {
		return call.NewProblem(http.StatusConflict, "", "the node serves no pages over TCP", "add an address such as 127.0.0.1:9190 to listen.admin, without `console: false`")
	}
	call.SendJSON(w, http.StatusCreated, LoginLinks{Links: links, Seconds: int(lasts.Seconds())})
	return nil
}

// AnswerEndSessions logs all browsers out.
func AnswerEndSessions(w http.ResponseWriter, r *http.Request) *call.Problem {
	call.SendJSON(w, http.StatusOK, SessionsEnded{Sessions: endSessions(w, r)})
	return nil
}

type refusalKey struct{}

// RefuseLogin sends why a request is refused: a browser that asks for a page that
// requires a login is sent to the login, and another is shown the reason there, if
// there are pages.
func RefuseLogin(w http.ResponseWriter, r *http.Request, refusal *Refusal, pattern string, pages http.Handler) {
	if page, ok := refusal.LoginPage(r, pattern); ok && pages != nil {
		http.Redirect(w, r, page, http.StatusSeeOther)
		return
	}
	if pages != nil && showsPage(r, pattern) && CallerOf(r).Role >= Guest {
		shown := r.Clone(context.WithValue(r.Context(), refusalKey{}, refusal))
		shown.Method, shown.URL, shown.RequestURI = http.MethodGet, &url.URL{Path: "/login"}, "/login"
		pages.ServeHTTP(w, shown)
		return
	}
	if refusal.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="edgeguard"`)
	}
	if after := refusal.RetryAfter(); after > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(after))
	}
	call.NewProblem(refusal.Status, refusal.Field, refusal.Detail, refusal.Fix).Send(w)
}
