// Package envoy is the list `listen.envoy` of a config: where Envoy asks by gRPC about each
// request while it waits. It opens nothing that the list names.
package envoy

import (
	"fmt"
	"net/netip"
	"slices"

	"edgeguard/config/address"
	"edgeguard/config/fieldpath"
	"edgeguard/config/read"
	"edgeguard/config/write"
	"edgeguard/config/yamltext"
)

// Section is the listeners.
type Section []Entry

// Entry is one address at which Envoy asks by ext_authz or as its rate limit service.
type Entry struct {
	Address address.Address // tcp or unix
	address.Access
	TLS         Files
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

// Files are the certificates of a listener over TCP, in PEM.
type Files struct {
	CertFile, KeyFile string // of edgeguard
	ClientCAFile      string // who signs the certificates of the Envoys; empty: they need none
}

// Counts reports whether requests are counted that Envoy asks about.
func (s Section) Counts() bool {
	return slices.ContainsFunc(s, func(l Entry) bool { return l.Count })
}

// ConnectionBytes is what a connection takes at most, if its calls do not go on.
const ConnectionBytes = 3 << 19

// Bounds and default of the connections. Each thread of an Envoy has one or two.
const (
	leastConnections   = 8
	defaultConnections = 64
	mostConnections    = 65_536
)

// Read reads the list.
func (s *Section) Read(n read.Node) {
	*s = Section{}
	n.List(func(n read.Node) { *s = append(*s, readEntry(n)) })
}

func readEntry(n read.Node) Entry {
	l := Entry{Count: true, Connections: defaultConnections}
	n.Listener(&l.Address, read.Fields{
		"connections": func(n read.Node) { l.Connections = int(n.Whole(leastConnections, mostConnections)) },
		"mode":        func(n read.Node) { l.Mode = n.Mode() },
		"group":       func(n read.Node) { l.Group = n.Group() },
		"tls":         l.TLS.read,
		"trust":       func(n read.Node) { l.Trust = append([]netip.Prefix{}, n.Prefixes()...) },
		"header":      func(n read.Node) { l.Header = n.Header() },
		"fronted":     func(n read.Node) { l.Fronted = n.Truth() },
		"emit":        func(n read.Node) { l.Count = n.Choice("request", "nothing") == "request" },
	})
	l.Access = n.Access(l.Address, l.Access, address.GroupMode, "any user can ask with any client address")
	switch {
	case n.Touched("address", "tls"):
	case l.Address.Unix() && l.TLS != Files{}:
		n.WrongField("tls", "is for TCP, and "+l.Address.String()+" is a unix socket", "remove it: the socket's mode says who may ask")
	case !l.Address.Local() && l.TLS == Files{}:
		n.Warn(fmt.Sprintf("%s is reachable from other hosts, and has no tls: whoever can send from an address in trust can have any address blocked", l.Address),
			"set tls, or listen at 127.0.0.1 or on a unix socket, or protect it with a firewall")
	}
	return l
}

func (f *Files) read(n read.Node) {
	n.Mapping(read.Fields{
		"cert_file":      func(n read.Node) { f.CertFile = n.AbsPath() },
		"key_file":       func(n read.Node) { f.KeyFile = n.AbsPath() },
		"client_ca_file": func(n read.Node) { f.ClientCAFile = n.AbsPath() },
	})
	if (f.CertFile == "" || f.KeyFile == "") && !n.Touched("cert_file", "key_file") {
		n.Wrong("requires cert_file and key_file", "set both; client_ca_file also admits Envoys by their certificates")
	}
}

// Write writes the list, if it is not empty.
func (s Section) Write(p *write.Printer) {
	if len(s) == 0 {
		return
	}
	p.Field(1, "envoy", "")
	for i := range s {
		p.Field(2, "- {address", s[i].text(p, fieldpath.Item("listen.envoy", i))+"}")
	}
}

// text returns an entry without the name of its first field.
func (l *Entry) text(p *write.Printer, path string) string {
	emit := "nothing"
	if l.Count {
		emit = "request"
	}
	text := fmt.Sprintf("%s, trust: %s, emit: %s", p.Quote(fieldpath.Join(path, "address"), l.Address.String()), p.Prefixes(fieldpath.Join(path, "trust"), l.Trust), emit)
	if l.TLS != (Files{}) {
		file := func(name, value string) string {
			return name + ": " + p.Quote(fieldpath.Join(fieldpath.Join(path, "tls"), name), value)
		}
		text += ", tls: {" + file("cert_file", l.TLS.CertFile) + ", " + file("key_file", l.TLS.KeyFile)
		if l.TLS.ClientCAFile != "" {
			text += ", " + file("client_ca_file", l.TLS.ClientCAFile)
		}
		text += "}"
	}
	if l.Header != "" {
		text += ", header: " + yamltext.Quote(l.Header)
	}
	if l.Fronted {
		text += ", fronted: true"
	}
	return text + write.Access(l.Access) + fmt.Sprintf(", connections: %d", l.Connections)
}
