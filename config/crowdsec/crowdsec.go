// Package crowdsec is the section `crowdsec` of a config: where edgeguard speaks with
// CrowdSec's programs. It opens nothing that the section names.
package crowdsec

import (
	"fmt"
	"strconv"

	"edgeguard/config/address"
	"edgeguard/config/fieldpath"
	"edgeguard/config/read"
	"edgeguard/config/write"
)

// Section is the programs of CrowdSec that a node speaks with.
type Section struct {
	LAPI      []LAPI
	Decisions *Decisions // nil for none
	Alerts    *Alerts    // nil for none
}

// LAPI is one listener for CrowdSec's bouncers, which enforce the node's blocks.
type LAPI struct {
	Listen      address.Address // tcp
	TLS         Files
	Connections int // open at most
}

// Files are the certificates of a listener, in PEM.
type Files struct {
	CertFile, KeyFile string
	ClientCAFile      string // who signs the certificates of the bouncers; empty: they need none
}

// Listen is where bouncers connect by default. CrowdSec itself listens at port 8080.
const Listen = "127.0.0.1:9280"

// Bounds and default of the open connections of a listener.
const (
	leastConnections   = 8
	defaultConnections = 256
	mostConnections    = 65_536
)

// Read reads the section.
func (s *Section) Read(n read.Node) {
	n.Mapping(read.Fields{
		"lapi": func(n read.Node) {
			n.List(func(n read.Node) { s.LAPI = append(s.LAPI, readLAPI(n)) })
		},
		"decisions": func(n read.Node) { s.Decisions = readDecisions(n) },
		"alerts":    func(n read.Node) { s.Alerts = readAlerts(n) },
	})
}

func readLAPI(n read.Node) LAPI {
	l := LAPI{Connections: defaultConnections}
	n.Mapping(read.Fields{
		"listen":      func(n read.Node) { l.Listen = n.Address("tcp") },
		"tls":         l.TLS.read,
		"connections": func(n read.Node) { l.Connections = int(n.Whole(leastConnections, mostConnections)) },
	})
	if l.Listen.Network == "" && !n.Touched("listen") {
		l.Listen, _ = address.Parse(Listen)
		n.Claim(l.Listen)
	}
	if !l.Listen.Local() && l.TLS == (Files{}) && !n.Touched("listen", "tls") {
		n.WrongField("listen", fmt.Sprintf("other hosts can reach %s, and without TLS whoever is between reads the keys of the bouncers", l.Listen),
			"listen at "+Listen+", or set tls with cert_file and key_file")
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
		n.Wrong("requires cert_file and key_file", "set both: bouncers verify the certificate")
	}
}

// Write writes the section, if it says anything.
func (s *Section) Write(p *write.Printer) {
	if len(s.LAPI) == 0 && s.Decisions == nil && s.Alerts == nil {
		return
	}
	p.Field(0, "crowdsec", "")
	if len(s.LAPI) > 0 {
		p.Field(1, "lapi", "")
	}
	for i, l := range s.LAPI {
		path := fieldpath.Item("crowdsec.lapi", i)
		p.Field(2, "- {listen", p.Quote(fieldpath.Join(path, "listen"), l.Listen.String())+l.TLS.text(p, fieldpath.Join(path, "tls"))+
			", connections: "+strconv.Itoa(l.Connections)+"}")
	}
	if s.Decisions != nil {
		s.Decisions.write(p)
	}
	if s.Alerts != nil {
		s.Alerts.write(p)
	}
}

// text returns the files as a field, with a comma before it; nothing without them.
func (f Files) text(p *write.Printer, path string) string {
	if f == (Files{}) {
		return ""
	}
	text := ", tls: {cert_file: " + p.Quote(fieldpath.Join(path, "cert_file"), f.CertFile) + ", key_file: " + p.Quote(fieldpath.Join(path, "key_file"), f.KeyFile)
	if f.ClientCAFile != "" {
		text += ", client_ca_file: " + p.Quote(fieldpath.Join(path, "client_ca_file"), f.ClientCAFile)
	}
	return text + "}"
}
