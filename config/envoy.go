package config

import (
	"fmt"
	"net/netip"

	"edgeguard/config/key"
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

// EnvoyConnectionBytes is what a connection takes at most, if its calls do not go on.
const EnvoyConnectionBytes = 3 << 19

// Bounds and default of the connections. Each thread of an Envoy has one or two.
const (
	envoyLeastConnections   = 8
	envoyDefaultConnections = 64
	envoyMostConnections    = 65_536
)

func newEnvoyListener() EnvoyListener {
	return EnvoyListener{Count: true, Connections: envoyDefaultConnections}
}

func (l *EnvoyListener) keys() key.List {
	return append(key.List{
		key.Address("address", &l.Address, nil, "`host:port`, `unix:/path`", "where to listen. Prefer a unix socket: other users cannot open it").Usual("required"),
		key.At("trust", &l.Trust, readTrust, (*yaml.Printer).Prefixes, "prefixes", "the Envoys that may name a client, and the proxies before them; who else connects is counted as a client. A peer on a unix socket always may").Usual("`trusted_proxies`"),
		key.Word("emit", &l.Count, emits, []bool{true, false}, "`nothing`: look up blocks and what rules that deny have counted, and count nothing, because another source does"),
		l.TLS.key(false, "set both; client_ca_file also admits Envoys by their certificates",
			"of TCP: edgeguard's `cert_file` and `key_file`. With `client_ca_file`, an Envoy requires a certificate of that CA, and is trusted for it"),
		key.Text("header", &l.Header, yaml.Node.Header, "a header's name", "names the client where the last hop before Envoy is in `trust`; of the rate limit service, the descriptor's entry of that name").Usual("`X-Forwarded-For`"),
		key.Truth("fronted", &l.Fronted, "`true`: the proxy that asks learns its clients from a header or the PROXY protocol itself, so no kernel enforcer can block them").If(l.Fronted),
	}, socketKeys(&l.Access, groupMode, &l.Connections, envoyLeastConnections, envoyMostConnections)...)
}

func (l *EnvoyListener) entry() Entry {
	return Entry{
		Listener: &Listener{Address: l.Address, Access: l.Access, TLS: l.TLS, Asked: "Envoy", Connections: &l.Connections},
		Clients:  &ClientOf{&l.Trust, l.Header}, source: askedSource(l.Count, 2), counts: l.Count,
	}
}

func readEntry(n yaml.Node) EnvoyListener {
	l := newEnvoyListener()
	n.Listener(&l.Address, l.keys().Fields())
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
