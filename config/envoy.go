package config

import (
	"fmt"
	"net/netip"
	"slices"

	"edgeguard/config/yaml"
)

// EnvoyListeners is the list `listen.envoy`: where Envoy asks by gRPC about each request
// while it waits.
type EnvoyListeners []EnvoyListener

// EnvoyListener is one address at which Envoy asks by ext_authz or as its rate limit service.
type EnvoyListener struct {
	Address yaml.Address // tcp or unix
	yaml.Access
	TLS         ListenerTLS
	Connections int // open at most
	// Trust are the Envoys and the proxies in front of them: the trusted proxies unless the
	// file says otherwise. A peer on a unix socket, or with a certificate, is always one.
	Trust []netip.Prefix
	// Header names the client behind a proxy in front of Envoy; empty for X-Forwarded-For.
	Header string
	// Fronted says that Envoy itself learns its clients from a header.
	Fronted bool
	// Count is false where requests are looked up and not counted, because another source
	// counts them.
	Count bool
}

// Counts reports whether requests are counted that Envoy asks about.
func (s EnvoyListeners) Counts() bool {
	return slices.ContainsFunc(s, func(l EnvoyListener) bool { return l.Count })
}

// EnvoyConnectionBytes is what a connection takes at most, if its calls do not go on.
const EnvoyConnectionBytes = 3 << 19

// Bounds and default of the connections. Each thread of an Envoy has one or two.
const (
	envoyLeastConnections   = 8
	envoyDefaultConnections = 64
	envoyMostConnections    = 65_536
)

// Read reads the list.
func (s *EnvoyListeners) Read(n yaml.Node) {
	*s = EnvoyListeners{}
	n.List(func(n yaml.Node) { *s = append(*s, readEntry(n)) })
}

func readEntry(n yaml.Node) EnvoyListener {
	l := EnvoyListener{Count: true, Connections: envoyDefaultConnections}
	n.Listener(&l.Address, yaml.Fields{
		"connections": func(n yaml.Node) { l.Connections = int(n.Whole(envoyLeastConnections, envoyMostConnections)) },
		"mode":        func(n yaml.Node) { l.Mode = n.Mode() },
		"group":       func(n yaml.Node) { l.Group = n.Group() },
		"tls": func(n yaml.Node) {
			l.TLS.read(n, false, "set both; client_ca_file also admits Envoys by their certificates")
		},
		"trust":   func(n yaml.Node) { l.Trust = append([]netip.Prefix{}, n.Prefixes()...) },
		"header":  func(n yaml.Node) { l.Header = n.Header() },
		"fronted": func(n yaml.Node) { l.Fronted = n.Truth() },
		"emit":    func(n yaml.Node) { l.Count = n.Choice("request", "nothing") == "request" },
	})
	l.Access = n.Access(l.Address, l.Access, yaml.GroupMode, "any user can ask with any client address")
	switch {
	case n.Touched("address", "tls"):
	case l.Address.Unix() && l.TLS != ListenerTLS{}:
		n.WrongField("tls", "is for TCP, and "+l.Address.String()+" is a unix socket", "remove it: the socket's mode says who may ask")
	case !l.Address.Local() && l.TLS == ListenerTLS{}:
		n.Warn(fmt.Sprintf("%s is reachable from other hosts, and has no tls: whoever can send from an address in trust can have any address blocked", l.Address),
			"set tls, or listen at 127.0.0.1 or on a unix socket, or protect it with a firewall")
	}
	return l
}

// Write writes the list, if it is not empty.
func (s EnvoyListeners) Write(p *yaml.Printer) {
	if len(s) == 0 {
		return
	}
	p.Field(1, "envoy", "")
	for i := range s {
		p.Field(2, "- {address", s[i].text(p, yaml.ItemPath("listen.envoy", i))+"}")
	}
}

// text returns an entry without the name of its first field.
func (l *EnvoyListener) text(p *yaml.Printer, path string) string {
	emit := "nothing"
	if l.Count {
		emit = "request"
	}
	text := fmt.Sprintf("%s, trust: %s, emit: %s", p.Quote(yaml.JoinPath(path, "address"), l.Address.String()), p.Prefixes(yaml.JoinPath(path, "trust"), l.Trust), emit)
	text += l.TLS.text(p, path)
	if l.Header != "" {
		text += ", header: " + yaml.Quote(l.Header)
	}
	if l.Fronted {
		text += ", fronted: true"
	}
	return text + yaml.AccessText(l.Access) + fmt.Sprintf(", connections: %d", l.Connections)
}
