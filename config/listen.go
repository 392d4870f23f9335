package config

import (
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"strconv"

	"edgeguard"
	"edgeguard/config/key"
	"edgeguard/config/yaml"
)

// Listen is where the node answers.
type Listen struct {
	Auth  []Auth
	Envoy EnvoyListeners
	Admin []Admin
}

// Preferred returns the admin listener that a command of this host goes to: a
// unix socket first, because it may change things, and never one that only a proxy
// may use. ok is false if there is none.
func (l *Listen) Preferred() (listener Admin, ok bool) {
	for _, a := range l.Admin {
		if a.ProxyAuth.Set && a.TokenFile == "" {
			continue
		}
		if a.Address.Network == "unix" && !a.ProxyAuth.Set {
			return a, true
		}
		if !ok {
			listener, ok = a, true
		}
	}
	return listener, ok
}

// Pages returns the addresses at which a browser finds the console, host:port, first
// those of loopback. An address that means all of the host's is its loopback address.
func (l *Listen) Pages() []string {
	var local, others []string
	for _, a := range l.Admin {
		host, port, err := net.SplitHostPort(a.Address.Address)
		if a.NoConsole || a.Address.Network != "tcp" || err != nil {
			continue
		}
		if addr, err := netip.ParseAddr(host); host == "" || err == nil && addr == netip.IPv4Unspecified() {
			host = "127.0.0.1"
		} else if err == nil && addr == netip.IPv6Unspecified() {
			host = "::1"
		}
		at := yaml.Address{Network: "tcp", Address: net.JoinHostPort(host, port)}
		if at.Local() {
			local = append(local, at.Address)
		} else {
			others = append(others, at.Address)
		}
	}
	return append(local, others...)
}

// AddSocket adds a unix socket that only the node's own user and root may open, for
// a node without a config.
func (l *Listen) AddSocket(path string) {
	l.Admin = append(l.Admin, Admin{Address: yaml.Address{Network: "unix", Address: path}, Access: yaml.Access{Mode: yaml.OwnMode}, Connections: adminConnections})
}

// Bounds and defaults of the open connections of a listener.
const (
	authConnections  = 1024
	adminConnections = 512
	leastConnections = 8
	mostConnections  = 1_000_000
)

// Auth is one listener for forward auth.
type Auth struct {
	Address yaml.Address // tcp or unix
	yaml.Access
	Connections int // open at most
	// Trust are the peers whose headers say who the client is: the trusted
	// proxies unless the file says otherwise. A peer on a unix socket is always
	// one of them.
	Trust []netip.Prefix
	// Header is the one header that names the client; empty for those of the
	// proxy's protocol.
	Header string
	// Emit is KindRequest, or 0 where requests are looked up and not counted,
	// because another source counts them.
	Emit edgeguard.Kind
	// Fronted says that the proxy itself learns its clients from a header.
	Fronted bool
}

// Admin is one listener for the API, the dashboard and the metrics.
type Admin struct {
	Address yaml.Address // tcp or unix
	yaml.Access
	Connections int // open at most
	// TokenFile holds the token of operators and ReaderTokenFile that of readers;
	// empty for none.
	TokenFile, ReaderTokenFile string
	ProxyAuth                  ProxyAuth
	NoConsole                  bool // serves no pages: the API alone
}

func (l *Listen) keys() key.List {
	return key.List{
		key.Items("auth", &l.Auth, readAuth, (*Auth).keys).Always(),
		key.Items("envoy", &l.Envoy, readEntry, (*EnvoyListener).keys),
		key.Items("admin", &l.Admin, readAdmin, (*Admin).keys).Always(),
	}
}

// accessKeys are those of a unix socket; usual is its mode by default.
func accessKeys(a *yaml.Access, usual string) key.List {
	mode := func(m fs.FileMode) string {
		if m == 0 {
			return ""
		}
		return fmt.Sprintf(`"%04o"`, m)
	}
	return key.List{
		key.Of("mode", &a.Mode, yaml.Node.Mode, mode, "octal digits", "of a unix socket: who may write to it may connect").Usual(usual),
		key.Text("group", &a.Group, yaml.Node.Group, "a name or a number",
			"of a unix socket. edgeguard's user must be in it, and whoever connects").Usual("that of the process"),
	}
}

// groupMode says what the mode of most sockets is.
const groupMode = "`0660`"

// socketKeys are those that end each listener.
func socketKeys(a *yaml.Access, usual string, connections *int, least, most uint32) key.List {
	return append(accessKeys(a, usual), key.Whole("connections", connections, least, most, "how many may be open"))
}

// emits are the words for a listener that counts requests, and for one that looks up only.
var emits = []string{"request", "nothing"}

// readTrust reads prefixes. An empty list is not the default.
func readTrust(n yaml.Node) []netip.Prefix { return append([]netip.Prefix{}, n.Prefixes()...) }

func newAuth() Auth { return Auth{Emit: edgeguard.KindRequest, Connections: authConnections} }

func (a *Auth) keys() key.List {
	return append(key.List{
		key.Address("address", &a.Address, nil, "`host:port`, `unix:/path`", "where to listen. Prefer a unix socket: other users cannot open it").Usual("required"),
		key.At("trust", &a.Trust, readTrust, (*yaml.Printer).Prefixes, "prefixes",
			"the peers that may name a client. A peer on a unix socket always may").Usual("`trusted_proxies`"),
		key.Word("emit", &a.Emit, emits, []edgeguard.Kind{edgeguard.KindRequest, 0}, "`nothing`: look up blocks and what rules that deny have counted, and count nothing, because another source does"),
		key.Text("header", &a.Header, yaml.Node.Header, "a header's name", "names the client on `/auth/forward` and `/auth/envoy/`; `/auth/nginx` reads `X-Real-IP`").Usual("`X-Forwarded-For`"),
		key.Truth("fronted", &a.Fronted, "`true`: the proxy that asks learns its clients from a header or the PROXY protocol itself, so no kernel enforcer can block them").If(a.Fronted),
	}, socketKeys(&a.Access, groupMode, &a.Connections, leastConnections, mostConnections)...)
}

func (a *Auth) entry() Entry {
	return Entry{
		Listener: &Listener{Address: a.Address, Access: a.Access, Asked: "forward auth", Usual: true, Connections: &a.Connections},
		Clients:  &ClientOf{&a.Trust, a.Header}, source: source{a.Emit, authFields, 3},
	}
}

func readAuth(n yaml.Node) Auth {
	auth := newAuth()
	n.Listener(&auth.Address, auth.keys().Fields())
	auth.Access = n.Access(auth.Address, auth.Access, yaml.GroupMode, "any user can ask with any client address")
	return auth
}

func newAdmin() Admin { return Admin{Connections: adminConnections} }

func (a *Admin) keys() key.List {
	return append(key.List{
		key.Address("address", &a.Address, nil, "`host:port`, `unix:/path`", "where to listen. Prefer a unix socket: other users cannot open it").Usual("required"),
		key.Path("token_file", &a.TokenFile, "the token required over TCP. Who shows it is an operator"),
		key.Path("reader_token_file", &a.ReaderTokenFile, "another token, which changes nothing: for Prometheus and dashboards"),
		key.Of("console", &a.NoConsole, func(n yaml.Node) bool { return !n.Truth() }, func(no bool) string { return strconv.FormatBool(!no) },
			"`true`, `false`", "`false` serves no pages at this address: the API alone").If(a.NoConsole),
		key.Group("proxy_auth", a.ProxyAuth.keys, nil, "[a proxy with logins](operations.md#a-proxy-with-logins) that names its users in headers"),
	}, socketKeys(&a.Access, "`0600`, or `0660` with a `group`", &a.Connections, leastConnections, mostConnections)...)
}

func (a *Admin) entry() Entry {
	return Entry{
		Listener: &Listener{Address: a.Address, Access: a.Access, Connections: &a.Connections},
		Secrets:  []Secret{{"token_file", a.TokenFile}, {"reader_token_file", a.ReaderTokenFile}, {"proxy_auth.secret_file", a.ProxyAuth.SecretFile}},
	}
}

func readAdmin(n yaml.Node) Admin {
	admin := newAdmin()
	var proxy yaml.Node
	fields := admin.keys().Fields()
	fields["proxy_auth"] = func(n yaml.Node) { proxy, admin.ProxyAuth = n, readProxyAuth(n) }
	n.Listener(&admin.Address, fields)
	admin.checkProxyAuth(proxy)
	if admin.TokenFile != "" && admin.TokenFile == admin.ReaderTokenFile {
		n.Wrong("has one file for both tokens, so that readers would be operators", "set reader_token_file to another file")
	}
	usual := yaml.OwnMode
	if admin.Group != "" {
		usual = yaml.GroupMode
	}
	admin.Access = n.Access(admin.Address, admin.Access, usual, "any user can block and allow any address")
	open := admin.TokenFile == "" && admin.ReaderTokenFile == "" && !admin.ProxyAuth.Set
	if open && !admin.Address.Local() && !n.Touched("token_file", "reader_token_file") {
		n.Wrong(fmt.Sprintf("%s is reachable from other hosts and has no token", admin.Address),
			"set token_file, or listen at 127.0.0.1 or on a unix socket")
	}
	return admin
}
