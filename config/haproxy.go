package config

import (
	"fmt"
	"regexp"
	"slices"

	"edgeguard/config/yaml"
)

// HAProxy is the section `haproxy`: where HAProxy connects to the node by protocols of
// its own, and who may.
type HAProxy struct {
	Peers []HAProxyPeers
	SPOE  []HAProxySPOE
}

// HAProxyPeers is one listener for HAProxy's peers protocol: HAProxy sends what its tables
// count, and is taught what is blocked.
type HAProxyPeers struct {
	HAProxyDoor
	Count   bool // requests are counted from HAProxy's tables
	Enforce bool // blocks are taught to HAProxy
	Proxied bool // HAProxy learns its clients from another proxy in front of it
}

// HAProxySPOE is one listener at which HAProxy asks about each request while it waits.
type HAProxySPOE struct {
	HAProxyDoor
	Count       bool // the requests are counted; else they are only looked up
	Proxied     bool // HAProxy learns its clients from another proxy in front of it
	Connections int  // open at most
}

// HAProxyDoor is where HAProxy connects, and who may. These protocols have no passwords: so
// it is a unix socket with one user, or TCP with certificates of both sides.
type HAProxyDoor struct {
	Listen yaml.Address
	User   string      // whose processes may connect; of a unix socket alone
	TLS    ListenerTLS // of TCP alone
}

// Access is who may open the door's socket: its user's processes, which the door itself
// admits by their user.
func (d *HAProxyDoor) Access() yaml.Access {
	if !d.Listen.Unix() {
		return yaml.Access{}
	}
	return yaml.Access{Mode: yaml.OwnMode}
}

// Asks reports whether requests are counted that HAProxy asks about.
func (s *HAProxy) Asks() bool {
	return slices.ContainsFunc(s.SPOE, func(one HAProxySPOE) bool { return one.Count })
}

// Counts reports whether a HAProxy counts requests.
func (s *HAProxy) Counts() bool {
	return slices.ContainsFunc(s.Peers, func(p HAProxyPeers) bool { return p.Count })
}

// Enforces reports whether a HAProxy is taught what is blocked.
func (s *HAProxy) Enforces() bool {
	return slices.ContainsFunc(s.Peers, func(p HAProxyPeers) bool { return p.Enforce })
}

// Socket is where HAProxy connects by default, inside the chroot of Debian's, and User as
// whom.
const (
	peersSocket = "/var/lib/haproxy/edgeguard/peers.sock"
	user        = "haproxy"
)

// spoeSocket is where HAProxy asks by default: inside the chroot of Debian's.
const spoeSocket = "/var/lib/haproxy/edgeguard/spoe.sock"

// Bounds and default of the connections of HAProxy's questions. Each thread of a
// HAProxy has a few.
const (
	haproxyLeastConnections = 8
	spoeConnections         = 256
	haproxyMostConnections  = 65_536
)

var userName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$`)

// Read reads the section.
func (s *HAProxy) Read(n yaml.Node) {
	n.Mapping(yaml.Fields{
		"peers": func(n yaml.Node) {
			n.List(func(n yaml.Node) { s.Peers = append(s.Peers, readPeers(n)) })
		},
		"spoe": func(n yaml.Node) {
			n.List(func(n yaml.Node) { s.SPOE = append(s.SPOE, readSPOE(n)) })
		},
	})
}

func readPeers(n yaml.Node) HAProxyPeers {
	p := HAProxyPeers{Count: true, Enforce: true}
	fields := p.HAProxyDoor.Fields()
	fields["count"] = func(n yaml.Node) { p.Count = n.Truth() }
	fields["enforce"] = func(n yaml.Node) { p.Enforce = n.Truth() }
	fields["proxied"] = func(n yaml.Node) { p.Proxied = n.Truth() }
	n.Mapping(fields)
	p.HAProxyDoor.Settle(n, peersSocket, "read what is counted, and block and unblock any address")
	if !p.Count && !p.Enforce && !n.Touched("count", "enforce") {
		n.Wrong("neither counts nor enforces", "set count or enforce to true, or remove the entry")
	}
	return p
}

func readSPOE(n yaml.Node) HAProxySPOE {
	one := HAProxySPOE{Count: true, Connections: spoeConnections}
	fields := one.HAProxyDoor.Fields()
	fields["count"] = func(n yaml.Node) { one.Count = n.Truth() }
	fields["proxied"] = func(n yaml.Node) { one.Proxied = n.Truth() }
	fields["connections"] = func(n yaml.Node) { one.Connections = int(n.Whole(haproxyLeastConnections, haproxyMostConnections)) }
	n.Mapping(fields)
	one.HAProxyDoor.Settle(n, spoeSocket, "have any address blocked, and read who is")
	return one
}

// Fields returns how the fields of a door are read.
func (d *HAProxyDoor) Fields() yaml.Fields {
	return yaml.Fields{
		"listen": func(n yaml.Node) { d.Listen = n.Address("unix", "tcp") },
		"user":   func(n yaml.Node) { d.User = readUser(n) },
		"tls":    func(n yaml.Node) { d.TLS.read(n, true, "set all three: both sides must have a certificate") },
	}
}

// readUser reads a user's name or number.
func readUser(n yaml.Node) string {
	text, ok := n.Word()
	if ok && !userName.MatchString(text) {
		n.Wrong(fmt.Sprintf("invalid user %q", yaml.Clip(text)), "use a name such as haproxy")
	}
	return text
}

// Settle fills in the defaults of a door that was read, and refuses one that is open
// to everybody; danger is what he could do.
func (d *HAProxyDoor) Settle(n yaml.Node, socket, danger string) {
	if d.Listen.Network == "" && !n.Touched("listen") {
		d.Listen = yaml.Address{Network: "unix", Address: socket}
		n.Claim(d.Listen)
	}
	switch {
	case n.Touched("listen", "tls", "user"):
	case d.Listen.Unix() && d.TLS != ListenerTLS{}:
		n.WrongField("tls", "is for TCP, and "+d.Listen.String()+" is a unix socket", "remove it: the kernel vouches for the user")
	case d.Listen.Unix() && d.User == "":
		d.User = user
	case d.Listen.Unix():
	case d.User != "":
		n.WrongField("user", "is known of a unix socket alone, and "+d.Listen.String()+" is TCP", "listen at unix:"+socket+", or set tls instead of user")
	case d.TLS == ListenerTLS{}:
		n.WrongField("listen", fmt.Sprintf("whoever can connect to %s can %s: HAProxy's protocol has no password, and loopback is open to every user of this host", d.Listen, danger),
			"listen at unix:"+socket+", or set tls with certificates for both sides")
	}
}

// Write writes the section, if HAProxies connect.
func (s *HAProxy) Write(p *yaml.Printer) {
	if len(s.Peers)+len(s.SPOE) == 0 {
		return
	}
	p.Field(0, "haproxy", "")
	if len(s.Peers) > 0 {
		p.Field(1, "peers", "")
	}
	for i, one := range s.Peers {
		p.Field(2, "- {listen", one.HAProxyDoor.Text(p, yaml.ItemPath("haproxy.peers", i))+
			fmt.Sprintf(", count: %t, enforce: %t, proxied: %t}", one.Count, one.Enforce, one.Proxied))
	}
	if len(s.SPOE) > 0 {
		p.Field(1, "spoe", "")
	}
	for i, one := range s.SPOE {
		p.Field(2, "- {listen", one.HAProxyDoor.Text(p, yaml.ItemPath("haproxy.spoe", i))+
			fmt.Sprintf(", count: %t, proxied: %t, connections: %d}", one.Count, one.Proxied, one.Connections))
	}
}

// Text returns a door as Fields reads it, without the name of its first field.
func (d *HAProxyDoor) Text(p *yaml.Printer, path string) string {
	text := p.Quote(yaml.JoinPath(path, "listen"), d.Listen.String())
	if d.Listen.Unix() {
		return text + ", user: " + yaml.Quote(d.User)
	}
	return text + d.TLS.text(p, path)
}
