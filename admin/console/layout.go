package console

import (
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"

	"edgeguard/admin/access"
	"edgeguard/admin/call"
	"edgeguard/admin/console/draw"
	"edgeguard/internal/words"
)

// policy is the content security policy of every page: nothing but the node's own
// files, no inline script or style, no frame around it.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; " +
	"base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// page answers one page: its template and what it shows, or nil where the
// request is answered already.
type page func(w http.ResponseWriter, r *http.Request) (name string, shown any)

// layout makes pages of their templates.
type layout struct {
	frames    *frames // of what is not found: other pages bring theirs
	templates map[string]*template.Template
}

// newLayout reads the templates, which find their files in assets.
func newLayout(frames *frames, assets assetFiles) *layout {
	l := &layout{frames: frames, templates: make(map[string]*template.Template)}
	common := []string{"layout.html", "bare.html", "parts.html"}
	outer := template.Must(template.New("layout.html").Funcs(funcs(assets)).ParseFS(files, "templates/layout.html", "templates/bare.html", "templates/parts.html"))
	names, _ := fs.Glob(files, "templates/*.html")
	for _, name := range names {
		if base := path.Base(name); !slices.Contains(common, base) {
			l.templates[base] = template.Must(template.Must(outer.Clone()).ParseFS(files, name))
		}
	}
	return l
}

// funcs are what the templates write values with.
func funcs(assets assetFiles) template.FuncMap {
	return template.FuncMap{
		"number":     func(n any) string { return words.Number(integer(n)) },
		"sentenceOf": func(text string) string { return upper(text) + "." },
		"breakable":  breakable,
		"asset":      assets.Path,
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

// html sends a page with its headers.
func (l *layout) html(answer page) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, name, around, shown := http.StatusOK, "", "layout.html", any(nil)
		if name, shown = answer(w, r); shown == nil {
			return
		}
		switch asks := shown.(type) {
		case *notFound:
			status, name = http.StatusNotFound, "notfound.html"
			if asks.Title = "Not found"; access.CallerOf(r).Role < access.Reader && asks.Bare {
				around = "bare.html"
			} else {
				asks.frame = l.frames.of(r, "not found", "Not found")
			}
		case *actPage:
			status = asks.status
		case *applyPage:
			status = asks.status
		case interface{ answered() int }:
			status = asks.answered()
		}
		l.send(w, r, status, name, around, shown)
	})
}

// send makes a page of its template and of the layout around it.
func (l *layout) send(w http.ResponseWriter, r *http.Request, status int, name, layout string, shown any) {
	body := pageBuffer()
	defer keepBuffer(body)
	if err := l.templates[name].ExecuteTemplate(body, layout, shown); err != nil {
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
	Bare      bool // who has no login sees no figure of the node around it
}

// missing answers a browser that asks for a page that there is not. A program has the API's answer.
func missing(w http.ResponseWriter, r *http.Request) (string, any) {
	if !strings.Contains(r.Header.Get("Accept"), "text/html") || strings.HasPrefix(r.URL.Path, "/api/") {
		call.NoPath(r).Send(w)
		return "", nil
	}
	return "", &notFound{Text: "There is no page " + r.URL.Path + ".", Bare: true}
}

// readOnly is the page for who may change nothing.
func readOnly() *notFound {
	return &notFound{Text: "Nothing can be changed here.", Fix: "Log in as an operator."}
}
