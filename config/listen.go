package config

import (
	"fmt"
	"net"
	"net/netip"

	"edgeguard"
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

func (l *Listen) read(n yaml.Node) {
	n.Mapping(yaml.Fields{
		"auth": func(n yaml.Node) {
			l.Auth = []Auth{}
			n.List(func(n yaml.Node) { l.Auth = append(l.Auth, readAuth(n)) })
		},
		"envoy": l.Envoy.Read,
		"admin": func(n yaml.Node) {
			l.Admin = []Admin{}
			n.List(func(n yaml.Node) { l.Admin = append(l.Admin, readAdmin(n)) })
		},
	})
}

func readAuth(n yaml.Node) Auth {
	auth := Auth{Emit: edgeguard.KindRequest, Connections: authConnections}
	n.Listener(&auth.Address, yaml.Fields{
		"connections": func(n yaml.Node) { auth.Connections = connections(n) },
		"mode":        func(n yaml.Node) { auth.Mode = n.Mode() },
		"group":       func(n yaml.Node) { auth.Group = n.Group() },
		"trust":       func(n yaml.Node) { auth.Trust = append([]netip.Prefix{}, n.Prefixes()...) },
		"header":      func(n yaml.Node) { auth.Header = n.Header() },
		"fronted":     func(n yaml.Node) { auth.Fronted = n.Truth() },
		"emit": func(n yaml.Node) {
			if n.Choice("request", "nothing") == "nothing" {
				auth.Emit = 0
			}
		},
	})
	auth.Access = n.Access(auth.Address, auth.Access, yaml.GroupMode, "any user can ask with any client address")
	return auth
}

func readAdmin(n yaml.Node) Admin {
	admin := Admin{Connections: adminConnections}
	var proxy yaml.Node
	n.Listener(&admin.Address, yaml.Fields{
		"connections":       func(n yaml.Node) { admin.Connections = connections(n) },
		"mode":              func(n yaml.Node) { admin.Mode = n.Mode() },
		"group":             func(n yaml.Node) { admin.Group = n.Group() },
		"token_file":        func(n yaml.Node) { admin.TokenFile = n.AbsPath() },
		"reader_token_file": func(n yaml.Node) { admin.ReaderTokenFile = n.AbsPath() },
		"console":           func(n yaml.Node) { admin.NoConsole = !n.Truth() },
		"proxy_auth":        func(n yaml.Node) { proxy, admin.ProxyAuth = n, readProxyAuth(n) },
	})
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

func connections(n yaml.Node) int { return int(n.Whole(leastConnections, mostConnections)) }
