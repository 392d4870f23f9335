package access

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// The pages that log a browser in and out: with a token, or with a link of
// `edgeguard console`.

// ShowLogin sends a page that says nothing of the node: its template, and what it shows.
type ShowLogin func(w http.ResponseWriter, r *http.Request, status int, template string, shown any)

// loginPage is what login.html shows.
type loginPage struct {
	Title string
	Form  string // the token of its forms
	Next  string // where to go afterwards, or ""
	// Failed is why the login before failed, or "".
	Failed  string
	Tokens  bool // a token logs in here
	Exposed bool // the connection is not encrypted
	// User and Role are of who is logged in already; Role is empty for nobody.
	User, Role string
	Session    bool // and can log out
	Operator   bool
}

const (
	// refused says the same of every token, so that nobody learns which it was.
	refused = "This did not log you in. The token is not one of this address, or too many wrong ones came from yours: then wait, or use a link."
	spent   = "This link was used, or is older than two minutes. Run edgeguard console again."
)

type pages struct{ show ShowLogin }

// LoginRoutes returns the pages by the patterns of http.ServeMux.
func LoginRoutes(show ShowLogin) map[string]http.Handler {
	p := pages{show}
	return map[string]http.Handler{
		"GET /login":         http.HandlerFunc(p.open),
		"POST /login":        http.HandlerFunc(p.token),
		"POST /logout":       http.HandlerFunc(p.out),
		"POST /sessions/end": http.HandlerFunc(p.end),
	}
}

// open sends the form, or logs in by a link.
func (p pages) open(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	if f, ok := r.Context().Value(refusalKey{}).(*Refusal); ok {
		p.form(w, r, f.Status, "", "This was refused: "+f.Detail+". To do: "+f.Fix+".")
		return
	}
	query, next := r.URL.Query(), local(r.URL.Query().Get("next"))
	c := CallerOf(r)
	switch {
	case query.Has("link"):
		p.link(w, r, query.Get("link"), next)
	case next != "" && c.Role >= Reader:
		http.Redirect(w, r, next, http.StatusSeeOther)
	default:
		if c.Role < Reader && fromElsewhere(r) {
			// Strict cookies stay away from what another site links to. The page
			// itself asks again, with the cookie if there is one.
			w.Header().Set("Refresh", "0; url="+path(next))
		}
		p.form(w, r, http.StatusOK, next, "")
	}
}

// link logs in whoever follows it. Only a browser that opens it in a tab uses it up:
// not a program that asks what a link is, nor a browser that loads it in advance.
func (p pages) link(w http.ResponseWriter, r *http.Request, link, next string) {
	if next == "" {
		next = "/"
	}
	dest := r.Header.Get("Sec-Fetch-Dest")
	switch {
	case r.Method != http.MethodGet || inAdvance(r) || dest != "" && dest != "document":
		w.WriteHeader(http.StatusServiceUnavailable)
	case useLink(w, r, link) || CallerOf(r).Role == Operator: // a second click
		http.Redirect(w, r, path(next), http.StatusSeeOther)
	default:
		p.form(w, r, http.StatusForbidden, next, spent)
	}
}

// token logs in by the form.
func (p pages) token(w http.ResponseWriter, r *http.Request) {
	next := local(r.PostForm.Get("next"))
	if refusal := logIn(w, r, strings.TrimSpace(r.PostForm.Get("token"))); refusal != nil {
		status := http.StatusForbidden
		if after := refusal.RetryAfter(); after > 0 {
			status = refusal.Status
			w.Header().Set("Retry-After", strconv.Itoa(after))
		}
		p.form(w, r, status, next, refused)
		return
	}
	if next == "" {
		next = "/"
	}
	http.Redirect(w, r, next, http.StatusSeeOther)
}

func (p pages) out(w http.ResponseWriter, r *http.Request) {
	logOut(w, r)
	http.Redirect(w, r, "/login", http.StatusSeeOther)
}

// end ends all sessions, this one included.
func (p pages) end(w http.ResponseWriter, r *http.Request) {
	endSessions(w, r)
	http.Redirect(w, r, "/login", http.StatusSeeOther)
}

// form sends the page.
func (p pages) form(w http.ResponseWriter, r *http.Request, status int, next, failed string) {
	c := CallerOf(r)
	page := loginPage{
		Title: "Log in", Form: FormToken(r), Next: next, Failed: failed,
		Tokens: takesTokens(r), Exposed: exposed(r),
	}
	if c.Role >= Reader {
		page.Title, page.User, page.Role = "Your login", c.User, c.Role.String()
		page.Session, page.Operator = c.Way == BySession, c.Role == Operator
	}
	p.show(w, r, status, "login.html", &page)
}

// path returns that of this page with where to go afterwards.
func path(next string) string {
	if next == "" {
		return "/login"
	}
	return "/login?next=" + url.QueryEscape(next)
}

// local returns the path of a page of this node, or "" for anything else: a link
// could otherwise lead elsewhere after a login. Browsers read a backslash as a
// slash, and drop control characters.
func local(next string) string {
	unusual := strings.ContainsFunc(next, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '\\' })
	if unusual || len(next) > 2048 || !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") {
		return ""
	}
	u, err := url.Parse(next)
	if err != nil || u.Host != "" || u.Scheme != "" || u.Path == "/login" || u.Path == "/logout" {
		return ""
	}
	return next
}

// inAdvance reports whether a browser loads a page that nobody has opened yet.
func inAdvance(r *http.Request) bool {
	for _, name := range []string{"Sec-Purpose", "Purpose", "X-Purpose", "X-Moz"} {
		if value := strings.ToLower(r.Header.Get(name)); strings.Contains(value, "pre") { // prefetch, prerender, preview
			return true
		}
	}
	return false
}

// fromElsewhere reports whether a page of another origin led here.
func fromElsewhere(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return site == "cross-site" || site == "same-site"
}
