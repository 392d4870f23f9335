package config

import (
	"fmt"
	"regexp"
	"slices"

	"edgeguard/config/key"
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

func (s *HAProxySPOE) entry() Entry {
	return Entry{
		Listener: &Listener{Address: s.Listen, Access: s.Access(), TLS: s.TLS, Asked: "SPOE", Connections: &s.Connections},
		source:   askedSource(s.Count, 1), counts: s.Count,
	}
}

// entry says nothing of the events: which HAProxy's tables supply depends on the rules.
func (p *HAProxyPeers) entry() Entry {
	e := Entry{Listener: &Listener{Address: p.Listen, Access: p.Access(), TLS: p.TLS}, counts: p.Count}
	if p.Enforce {
		e.copies = "HAProxy's peers at " + p.Listen.String()
	}
	return e
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

func (s *HAProxy) keys() key.List {
	return key.List{
		key.Items("peers", &s.Peers, readPeers, (*HAProxyPeers).keys),
		key.Items("spoe", &s.SPOE, readSPOE, (*HAProxySPOE).keys),
	}
}

// fronted says of a key what a proxy in front of HAProxy means.
const fronted = "`true`: HAProxy itself learns its clients from a header or the PROXY protocol (`http-request set-src`), so no kernel enforcer can block them"

func newPeers() HAProxyPeers { return HAProxyPeers{Count: true, Enforce: true} }

func (p *HAProxyPeers) keys() key.List {
	return append(p.HAProxyDoor.keys(peersSocket),
		key.Truth("count", &p.Count, "count the requests. `false` where another source counts them"),
		key.Truth("enforce", &p.Enforce, "teach HAProxy what is blocked"),
		key.Truth("proxied", &p.Proxied, fronted),
	)
}

func readPeers(n yaml.Node) HAProxyPeers {
	p := newPeers()
	p.keys().Read(n)
	p.HAProxyDoor.Settle(n, peersSocket, "read what is counted, and block and unblock any address")
	if !p.Count && !p.Enforce && !n.Touched("count", "enforce") {
		n.Wrong("neither counts nor enforces", "set count or enforce to true, or remove the entry")
	}
	return p
}

func newSPOE() HAProxySPOE { return HAProxySPOE{Count: true, Connections: spoeConnections} }

func (o *HAProxySPOE) keys() key.List {
	return append(o.HAProxyDoor.keys(spoeSocket),
		key.Truth("count", &o.Count, "count the requests. `false` where another source counts them"),
		key.Truth("proxied", &o.Proxied, fronted),
		key.Whole("connections", &o.Connections, haproxyLeastConnections, haproxyMostConnections, "how many may be open; each thread of HAProxy has a few"),
	)
}

func readSPOE(n yaml.Node) HAProxySPOE {
	one := newSPOE()
	one.keys().Read(n)
	one.HAProxyDoor.Settle(n, spoeSocket, "have any address blocked, and read who is")
	return one
}

// keys are those of a door; socket is where it is by default.
func (d *HAProxyDoor) keys(socket string) key.List {
	return key.List{
		key.Address("listen", &d.Listen, func(n yaml.Node) yaml.Address { return n.Address("unix", "tcp") }, "`unix:/path`, or `host:port` with `tls`",
			"where HAProxy connects; by default in the chroot of Debian's").Usual("`unix:" + socket + "`"),
		key.Text("user", &d.User, readUser, "a name or a number",
			"of a unix socket: HAProxy's user. No other may connect").Usual("`" + user + "`"),
		d.TLS.key(true, "set all three: both sides must have a certificate",
			"edgeguard's `cert_file` and `key_file`, and the HAProxies' `client_ca_file`: a CA for them alone, since who has its certificate may do everything").Usual("required over TCP"),
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
