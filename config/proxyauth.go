package config

import (
	"net/netip"
	"strings"
)

// ProxyAuth is a reverse proxy that logs people in and names them in headers. It
// is zero for none.
type ProxyAuth struct {
	Set bool
	// From are the addresses of the proxy, and SecretFile holds what it shows in
	// the header X-Edgeguard-Proxy-Secret: any program of its host could come from
	// these addresses. A unix socket of the proxy's own requires neither.
	From       []netip.Prefix
	SecretFile string
	// User and Role are the headers that name the user and the role.
	User, Role string
}

// Default headers of a proxy that logs people in.
const (
	proxyUser = "X-Forwarded-User"
	proxyRole = "X-Edgeguard-Role"
)

// proxyAuth reads who logs people in before an admin listener.
func (n node) proxyAuth() ProxyAuth {
	p := ProxyAuth{Set: true, User: proxyUser, Role: proxyRole}
	n.mapping(fields{
		"from":        func(n node) { p.From = n.prefixes() },
		"secret_file": func(n node) { p.SecretFile = n.folder() },
		"user":        func(n node) { p.User = n.header() },
		"role":        func(n node) { p.Role = n.header() },
	})
	return p
}

// checkProxyAuth refuses a proxy that others could speak for. n is the field.
func (n node) checkProxyAuth(a *Admin) {
	p := &a.ProxyAuth
	switch {
	case !p.Set || n.r.touched(n.path, "from", "secret_file", "user", "role"):
	case strings.EqualFold(p.User, p.Role):
		n.wrong("user and role are one header", "use "+proxyUser+" and "+proxyRole)
	case a.Address.Network == "unix" && len(p.From) > 0:
		n.wrong("has from, but a client of a unix socket has no address", "remove from")
	case a.Address.Network == "tcp" && len(p.From) == 0:
		n.wrong("does not say from which addresses the proxy asks", "set from, such as [127.0.0.1]")
	case a.Address.Network == "tcp" && p.SecretFile == "":
		n.wrong("has no secret: any program of the proxy's host could name a user", "set secret_file, or listen for the proxy at a unix socket of its own")
	}
}
