// Package console is the web pages of a node: who is blocked and why, who is near
// a limit, and what each rule counts. The pages are made on the server and work
// without JavaScript; they show what the admin API answers, from the same
// functions.
//
// Every text that a client or another node wrote goes through html/template,
// which escapes it by its place. The content security policy forbids scripts and
// styles inside a page.
package console

import (
	"embed"
	"html/template"
	"io/fs"
	"maps"
	"net/http"
	"path"
	"slices"

	"edgeguard/admin"
	"edgeguard/admin/access"
	"edgeguard/admin/console/draw"
	"edgeguard/internal/words"
)

//go:embed templates assets thirdparty
var files embed.FS

// policy is the content security policy of every page: nothing but the node's own
// files, no inline script or style, no frame around it.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; " +
	"base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// Pages are the pages of a node. They are safe for concurrent use. Make them with
// [New].
type Pages struct {
	reader    admin.Reader
	view      *admin.View
	templates map[string]*template.Template
	assets    assetFiles
	changes   *admin.Changes // nil for clients without a login
	outcomes  outcomes
}

// New returns the pages that show a view and offer changes; none where changes is nil.
func New(view *admin.View, changes *admin.Changes) *Pages {
	p := &Pages{reader: view.Reader(), view: view, changes: changes, assets: newAssets(files, "assets/*", "thirdparty/*/*"), templates: make(map[string]*template.Template)}
	common := []string{"layout.html", "bare.html", "parts.html"}
	layout := template.Must(template.New("layout.html").Funcs(p.funcs()).ParseFS(files, "templates/layout.html", "templates/bare.html", "templates/parts.html"))
	names, _ := fs.Glob(files, "templates/*.html")
	for _, name := range names {
		if base := path.Base(name); !slices.Contains(common, base) {
			p.templates[base] = template.Must(template.Must(layout.Clone()).ParseFS(files, name))
		}
	}
	return p
}

// funcs are what the templates write values with.
func (p *Pages) funcs() template.FuncMap {
	return template.FuncMap{
		"number":     func(n any) string { return words.Number(integer(n)) },
		"sentenceOf": func(text string) string { return upper(text) + "." },
		"asset":      p.assets.Path,
		"meter":      draw.NewMeter,
		"spark":      draw.NewSpark,
	}
}

// integer returns a number of a page as one type.
func integer(n any) int64 {
	switch n := n.(type) {
	case int:
		return int64(n)
	case uint32:
		return int64(n)
	case uint64:
		return int64(n)
	}
	return n.(int64)
}

// page answers one page: its template and what it shows, or nil where the
// request is answered already.
type page func(w http.ResponseWriter, r *http.Request) (name string, shown any)

// Routes returns the pages and their files by the patterns of http.ServeMux.
func (p *Pages) Routes() map[string]http.Handler {
	routes := map[string]http.Handler{
		"GET /{$}":                             http.HandlerFunc(p.begin),
		"GET /find":                            http.HandlerFunc(p.find),
		"GET /console/assets/{version}/{name}": p.assets,
	}
	for pattern, answer := range map[string]page{
		"GET /welcome":             p.welcome,
		"GET /blocked":             p.blocked,
		"GET /near":                p.near,
		"GET /address/{address}":   p.address,
		"GET /network/{prefix...}": p.network,
		"GET /rules":               p.rules,
		"GET /rules/{name}":        p.rule,
		"GET /allowed":             p.allowed,
		"GET /held":                p.held,
		"GET /fleet":               p.fleet,
		"GET /neighbours":          p.neighbours,
		"GET /activity":            p.activity,
		"GET /about":               p.about,
	} {
		routes[pattern] = p.html(answer)
	}
	maps.Copy(routes, access.LoginRoutes(func(w http.ResponseWriter, r *http.Request, status int, name string, shown any) {
		p.send(w, r, status, name, "bare.html", shown)
	}))
	for name := range actions {
		routes["GET /"+name], routes["POST /"+name] = p.html(p.ask(name)), p.html(p.act(name))
	}
	routes["POST /undo"] = p.html(p.undo)
	routes["POST /neighbours"] = p.html(p.confirmList)
	routes["GET /rules/{name}/threshold"] = p.html(p.askThreshold)
	routes["POST /rules/{name}/threshold"] = p.html(p.setThreshold)
	routes["POST /rules/{name}/candidates"] = p.html(p.changeCandidate)
	routes["POST /rules/{name}/overlay"] = p.html(p.endOverlay)
	return routes
}

// html sends a page with its headers.
func (p *Pages) html(answer page) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, name, shown := http.StatusOK, "", any(nil)
		if name, shown = answer(w, r); shown == nil {
			return
		}
		if missing, ok := shown.(*notFound); ok {
			status, name = http.StatusNotFound, "notfound.html"
			missing.frame = p.frame(r, "", "Not found")
		}
		switch asks := shown.(type) {
		case *actPage:
			status = asks.status
		case *applyPage:
			status = asks.status
		}
		p.send(w, r, status, name, "layout.html", shown)
	})
}

// send makes a page of its template and of the layout around it.
func (p *Pages) send(w http.ResponseWriter, r *http.Request, status int, name, layout string, shown any) {
	body := pageBuffer()
	defer keepBuffer(body)
	if err := p.templates[name].ExecuteTemplate(body, layout, shown); err != nil {
		http.Error(w, "this page cannot be shown: "+err.Error(), http.StatusInternalServerError)
		return
	}
	setHeaders(w.Header())
	sendPage(w, r, status, body)
}

func setHeaders(h http.Header) {
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin") // with no-referrer a browser sends a form with `Origin: null`
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=()")
}

// notFound is the page for something that there is not.
type notFound struct {
	frame
	Text, Fix string
}
