// Package snippets holds the proxy configurations that the tests run: what
// `edgeguard snippets` prints is what was proven, with the operator's
// addresses filled in.
package snippets

import (
	"embed"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/template"
)

//go:embed *.tmpl
var files embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{"indent": indent}).ParseFS(files, "*.tmpl"))

// Values are what differs between sites. Empty fields get their defaults.
type Values struct {
	// Auth is where edgeguard listens: "127.0.0.1:9180" (the default) or
	// "unix:/run/edgeguard/auth.sock". Traefik and Envoy require TCP.
	Auth string
	// Listen is the site's port as the proxy writes it. Default: 80.
	Listen string
	// Backend is the site's own server, host:port. Default: 127.0.0.1:8080.
	Backend string
	// Locations replaces nginx's `location / { proxy_pass …; }`.
	Locations string
	// Closed refuses requests while edgeguard does not answer, where the
	// proxy has the choice; else they pass.
	Closed bool
	// Cache lets nginx keep a pass for a second per address, for a listener
	// that looks up only. It is the folder of the cache; empty: no cache.
	Cache string
}

// Names lists the snippets, sorted.
func Names() []string {
	var names []string
	for _, t := range templates.Templates() {
		if name, ok := strings.CutSuffix(t.Name(), ".tmpl"); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Write prints the named snippet.
func Write(w io.Writer, name string, v Values) error {
	t := templates.Lookup(name + ".tmpl")
	if t == nil {
		return fmt.Errorf("snippets: unknown name %q: use one of %s", name, strings.Join(Names(), ", "))
	}
	if v.Auth == "" {
		v.Auth = "127.0.0.1:9180"
	}
	if v.Listen == "" {
		v.Listen = "80"
	}
	if v.Backend == "" {
		v.Backend = "127.0.0.1:8080"
	}
	if v.Locations == "" {
		v.Locations = "location / {\n    proxy_pass http://" + v.Backend + ";\n}"
	}
	if err := t.Execute(w, v); err != nil {
		return fmt.Errorf("snippets: %s: %w", name, err)
	}
	return nil
}

// Port returns the port of Auth or Backend.
func (Values) Port(address string) string { return address[strings.LastIndexByte(address, ':')+1:] }

// Host returns the host of Auth or Backend, without brackets.
func (Values) Host(address string) string {
	return strings.Trim(address[:max(0, strings.LastIndexByte(address, ':'))], "[]")
}

// CaddyAuth writes Auth the way Caddy names a unix socket.
func (v Values) CaddyAuth() string {
	if path, ok := strings.CutPrefix(v.Auth, "unix:"); ok {
		return "unix/" + path
	}
	return v.Auth
}

func indent(s string) string { return strings.ReplaceAll(s, "\n", "\n    ") }
