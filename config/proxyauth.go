package config

import (
	"net/netip"
	"strings"

	"edgeguard/config/key"
	"edgeguard/config/yaml"
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

func newProxyAuth() ProxyAuth { return ProxyAuth{Set: true, User: proxyUser, Role: proxyRole} }

func (p *ProxyAuth) keys() key.List {
	return key.List{
		key.Text("user", &p.User, yaml.Node.Header, "a header's name", "the header with the user's name"),
		key.Text("role", &p.Role, yaml.Node.Header, "a header's name", "the header with the role: `operator` may change the node, all else reads"),
		key.Prefixes("from", &p.From, "the proxy's addresses. On a unix socket, whoever may open it is the proxy").If(len(p.From) > 0).Usual("required over TCP"),
		key.Path("secret_file", &p.SecretFile, "what the proxy sends as `X-Edgeguard-Proxy-Secret`, since any program of its host could come from its address").Usual("required over TCP"),
	}
}

// readProxyAuth reads who logs people in before an admin listener.
func readProxyAuth(n yaml.Node) ProxyAuth {
	p := newProxyAuth()
	p.keys().Read(n)
	return p
}

// checkProxyAuth refuses a proxy that others could speak for. n is the field.
func (a *Admin) checkProxyAuth(n yaml.Node) {
	p := &a.ProxyAuth
	switch {
	case !p.Set || n.Touched("from", "secret_file", "user", "role"):
	case strings.EqualFold(p.User, p.Role):
		n.Wrong("user and role are one header", "use "+proxyUser+" and "+proxyRole)
	case a.Address.Network == "unix" && len(p.From) > 0:
		n.Wrong("has from, but a client of a unix socket has no address", "remove from")
	case a.Address.Network == "tcp" && len(p.From) == 0:
		n.Wrong("does not say from which addresses the proxy asks", "set from, such as [127.0.0.1]")
	case a.Address.Network == "tcp" && p.SecretFile == "":
		n.Wrong("has no secret: any program of the proxy's host could name a user", "set secret_file, or listen for the proxy at a unix socket of its own")
	}
}
