// Package snippets keeps the texts that put edgeguard beside a proxy or packet filter: for
// each way, the files that it requires with the commands that install them. The tests run
// the same text, with their own addresses and folders filled in.
package snippets

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/template"

	"edgeguard/internal/nearest"
	"edgeguard/rules"
)

//go:embed *.tmpl
var files embed.FS

// Values are what differs between sites. Empty fields get their defaults.
type Values struct {
	// Auth is where edgeguard listens: "127.0.0.1:9180" (the default) or
	// "unix:/run/edgeguard/auth.sock". Traefik and Envoy require TCP.
	Auth string
	// Spoe is where edgeguard listens for HAProxy's SPOE: unix:PATH, by default in
	// the chroot of Debian's HAProxy, or host:port with TLS. SpoeFile is HAProxy's file
	// of what it asks. Headers are those that rules count by.
	Spoe, SpoeFile string
	Headers        []string
	// Envoy is where edgeguard listens for Envoy's gRPC: unix:PATH, or host:port.
	Envoy string
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
	// State is edgeguard's state folder, where lists are. Default:
	// /var/lib/edgeguard.
	State string
	// Names is the folder of names. Default: that of the config.
	Names string
	// Group may connect to the sockets of listen.auth. Default: edgeguard.
	Group string
	// Rules are those that HAProxy is to count. Default: one for all requests.
	Rules *rules.Set
	// Peers is where edgeguard listens for HAProxy's peers protocol. Default: a unix
	// socket in HAProxy's chroot.
	Peers string
	// PeersCount says that HAProxy's tables count the requests. Else its log does, which
	// edgeguard receives at Log: by default a unix stream in HAProxy's chroot, fed by a ring
	// as one by TCP is; or unixgram: or udp:, or a file. Unlogged: something else counts.
	PeersCount bool
	Log        string
	Unlogged   bool
}

// Part is a file of a snippet, or commands.
type Part struct {
	Name string // for --file
	Path string // where it belongs on a Debian; "" for commands
	Text string // ends with a newline
}

// recipe is a template file: what it is for, and its parts.
type recipe struct {
	name, about string
	parts       []part
}

type part struct {
	name, path string
	text       *template.Template
}

// recipes are those of the embedded files, sorted by their names.
var recipes = parse()

// sharedFile defines what several recipes use.
const sharedFile = "shared.tmpl"

// parse reads the embedded files. Each begins with what it is for, in a line. A part
// begins with a line "-- NAME PATH --", or "-- NAME --" for commands.
func parse() []recipe {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(err)
	}
	shared := template.Must(template.New("").Funcs(template.FuncMap{"indent": indent}).ParseFS(files, sharedFile))
	var all []recipe
	for _, e := range entries {
		if e.Name() == sharedFile {
			continue
		}
		name := strings.TrimSuffix(e.Name(), ".tmpl")
		text, err := files.ReadFile(e.Name())
		if err != nil {
			panic(err)
		}
		all = append(all, parseRecipe(shared, name, string(text)))
	}
	return all
}

func parseRecipe(shared *template.Template, name, text string) recipe {
	about, rest, _ := strings.Cut(text, "\n-- ")
	r := recipe{name: name, about: strings.TrimSpace(about)}
	for piece := range strings.SplitSeq(rest, "\n-- ") {
		head, body, _ := strings.Cut(piece, " --\n")
		partName, path, _ := strings.Cut(head, " ")
		t := template.Must(template.Must(shared.Clone()).New(name + " " + partName).Parse(strings.TrimSuffix(body, "\n") + "\n"))
		r.parts = append(r.parts, part{name: partName, path: path, text: t})
	}
	return r
}

// Names returns the names of the snippets, sorted.
func Names() []string {
	var names []string
	for _, r := range recipes {
		names = append(names, r.name)
	}
	return names
}

// Refuses reports whether `edgeguard snippets NAME --check` shows that a snippet refuses, and
// whether who is refused then has no answer.
func Refuses(name string) (drops, shown bool) {
	text, err := Text(name, "check", Values{})
	return name == "nft" || name == "ipset", err == nil && strings.HasSuffix(text, " --check\n")
}

// About returns what the named snippet is for, in a line; "" for an unknown name.
func About(name string) string {
	for _, r := range recipes {
		if r.name == name {
			return r.about
		}
	}
	return ""
}

// Parts returns the files and commands of the named snippet. The first is what Write
// prints as it is: a proxy's config, where there is one.
func Parts(name string, v Values) ([]Part, error) {
	i := slices.IndexFunc(recipes, func(r recipe) bool { return r.name == name })
	if i < 0 {
		return nil, unknown("snippets: unknown name", name, Names())
	}
	v = v.filled()
	var parts []Part
	for _, p := range recipes[i].parts {
		var b bytes.Buffer
		if err := p.text.Execute(&b, v); err != nil {
			return nil, fmt.Errorf("snippets: %s: %w", name, err)
		}
		parts = append(parts, Part{Name: p.name, Path: p.path, Text: b.String()})
	}
	return parts, nil
}

// Text returns the named part of a snippet as it is, or the whole snippet where part is
// empty.
func Text(name, part string, v Values) (string, error) {
	if part == "" {
		var b strings.Builder
		err := Write(&b, name, v)
		return b.String(), err
	}
	parts, err := Parts(name, v)
	if err != nil {
		return "", err
	}
	var names []string
	for _, p := range parts {
		if p.Name == part {
			return p.Text, nil
		}
		names = append(names, p.Name)
	}
	return "", unknown("snippets: "+name+" has no file", part, names)
}

// unknown returns the error about a name that is not one of those, with the one that
// was perhaps meant.
func unknown(what, name string, names []string) error {
	if meant, ok := nearest.Name(name, names); ok {
		return fmt.Errorf("%s %q: did you mean %s?", what, name, meant)
	}
	return fmt.Errorf("%s %q: use one of %s", what, name, strings.Join(names, ", "))
}

// Write prints the named snippet as a whole: its first part as it is, so that the output
// is a file that the proxy reads, and all others as comments in it.
func Write(w io.Writer, name string, v Values) error {
	parts, err := Parts(name, v)
	if err != nil {
		return err
	}
	for i, p := range parts {
		text := p.Text
		if i > 0 {
			text = "\n# ---- " + cmp.Or(p.Path, "commands") + " (edgeguard snippets " + name + " --file " + p.Name + ")\n" + comment(text)
		}
		if _, err := io.WriteString(w, text); err != nil {
			return err
		}
	}
	return nil
}

// comment puts "# " before every line.
func comment(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimRight("# "+line, " \n") + "\n")
	}
	return b.String()
}

// filled is v with the defaults.
func (v Values) filled() Values {
	v.Auth = cmp.Or(v.Auth, "127.0.0.1:9180")
	v.Spoe = cmp.Or(v.Spoe, "unix:"+haproxyRoot+"/edgeguard/spoe.sock")
	v.Log = cmp.Or(v.Log, "unix:"+haproxyRoot+"/edgeguard/log.sock")
	v.Envoy = cmp.Or(v.Envoy, "unix:/run/edgeguard/envoy.sock")
	v.SpoeFile = cmp.Or(v.SpoeFile, "/etc/haproxy/edgeguard-spoe.conf")
	v.Listen = cmp.Or(v.Listen, "80")
	v.Backend = cmp.Or(v.Backend, "127.0.0.1:8080")
	v.Locations = cmp.Or(v.Locations, "location / {\n    proxy_pass http://"+v.Backend+";\n}")
	v.State = cmp.Or(v.State, "/var/lib/edgeguard")
	v.Names = cmp.Or(v.Names, "/run/edgeguard/names")
	v.Group = cmp.Or(v.Group, "edgeguard")
	return v
}

// Port returns the port of Auth or Backend.
func (Values) Port(address string) string { return address[strings.LastIndexByte(address, ':')+1:] }

// Host returns the host of Auth or Backend, without brackets.
func (Values) Host(address string) string {
	return strings.Trim(address[:max(0, strings.LastIndexByte(address, ':'))], "[]")
}

// Socket reports whether Auth is a unix socket, which the proxy's user must be allowed
// to open.
func (v Values) Socket() bool { return strings.HasPrefix(v.Auth, "unix:") }

// EnvoySocket reports whether Envoy asks at a unix socket.
func (v Values) EnvoySocket() bool { return strings.HasPrefix(v.Envoy, "unix:") }

// EnvoyPath returns the path of that socket.
func (v Values) EnvoyPath() string { return strings.TrimPrefix(v.Envoy, "unix:") }

// Rule returns the name of the first rule.
func (v Values) Rule() string {
	if v.Rules == nil || len(v.Rules.Rules) == 0 {
		return "default"
	}
	return v.Rules.Rules[0].Name
}

// haproxyRoot is the chroot of Debian's haproxy.cfg.
const haproxyRoot = "/var/lib/haproxy"

// SpoeSocket reports whether HAProxy asks at a unix socket.
func (v Values) SpoeSocket() bool { return strings.HasPrefix(v.Spoe, "unix:") }

// SpoeServer returns where HAProxy asks, as its line `server` has it.
func (v Values) SpoeServer() string {
	if path, ok := strings.CutPrefix(v.Spoe, "unix:"); ok {
		return strings.TrimPrefix(path, haproxyRoot)
	}
	return v.Spoe + " ssl verify required ca-file /etc/haproxy/edgeguard-ca.crt crt /etc/haproxy/edgeguard-client.pem"
}

// Reloads returns what a service requires that reloads a server's unit after a change of
// a list in the state folder.
func (v Values) Reloads(list, unit string) struct{ List, Unit string } {
	return struct{ List, Unit string }{v.State + "/" + list, unit}
}

// Copied returns what a service requires that copies a list of the state folder to a
// place of root's, if each of its lines has a form of the list's format.
func (v Values) Copied(list, copy, format string) struct{ List, Copy, Forms string } {
	return struct{ List, Copy, Forms string }{v.State + "/" + list, copy, forms[format]}
}

// forms are the lines that edgeguard writes into a list of a format, as grep -E matches
// them. A unit has them in double quotes of a shell.
var forms = map[string]string{
	"plain": prefixForm,
	"nginx": headForm + "|deny " + prefixForm + ";",
	"ipset": headForm + "|create edgeguard[46](_new)? hash:net family inet6? maxelem [0-9]+ timeout 0 -exist|flush edgeguard[46]_new|add edgeguard[46]_new " +
		prefixForm + " timeout [0-9]+ -exist|swap edgeguard[46]_new edgeguard[46]|destroy edgeguard[46]_new",
	"nft": headForm + "|table inet edgeguard [{]|[[:space:]]set (blocked|nets)[46] [{] type ipv[46]_addr; flags (interval, )?timeout; [}]|[[:space:]]counter dropped[46] [{] [}]" +
		"|[[:space:]]chain input [{] type filter hook input priority filter - 10; policy accept; [}]|[}]|flush (chain inet edgeguard input|set inet edgeguard (blocked|nets)[46])" +
		"|add rule inet edgeguard input ip6? saddr @(blocked|nets)[46] counter name dropped[46] drop" +
		"|(add element inet edgeguard (blocked|nets)[46] [{])? " + prefixForm + " timeout [0-9]+s(,| [}])",
}

const (
	headForm   = "# [A-Za-z :.]+"
	prefixForm = "[0-9a-f.:]+(/[0-9]+)?"
)

// CaddyAuth writes Auth the way Caddy names a unix socket.
func (v Values) CaddyAuth() string {
	if path, ok := strings.CutPrefix(v.Auth, "unix:"); ok {
		return "unix/" + path
	}
	return v.Auth
}

func indent(s string) string { return strings.ReplaceAll(s, "\n", "\n    ") }
