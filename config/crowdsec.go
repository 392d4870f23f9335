package config

import (
	"fmt"
	"strconv"

	"edgeguard/config/yaml"
)

// CrowdSec is the section `crowdsec`: the programs of CrowdSec that a node speaks with.
type CrowdSec struct {
	LAPI      []LAPI
	Decisions *CrowdSecDecisions // nil for none
	Alerts    *CrowdSecAlerts    // nil for none
}

// LAPI is one listener for CrowdSec's bouncers, which enforce the node's blocks.
type LAPI struct {
	Listen      yaml.Address // tcp
	TLS         ListenerTLS
	Connections int // open at most
}

// lapiListen is where bouncers connect by default. CrowdSec itself listens at port 8080.
const lapiListen = "127.0.0.1:9280"

// Bounds and default of the open connections of a listener.
const (
	leastLAPIConnections = 8
	defaultConnections   = 256
	mostLAPIConnections  = 65_536
)

// Read reads the section.
func (s *CrowdSec) Read(n yaml.Node) {
	n.Mapping(yaml.Fields{
		"lapi": func(n yaml.Node) {
			n.List(func(n yaml.Node) { s.LAPI = append(s.LAPI, readLAPI(n)) })
		},
		"decisions": func(n yaml.Node) { s.Decisions = readDecisions(n) },
		"alerts":    func(n yaml.Node) { s.Alerts = readAlerts(n) },
	})
}

func readLAPI(n yaml.Node) LAPI {
	l := LAPI{Connections: defaultConnections}
	n.Mapping(yaml.Fields{
		"listen":      func(n yaml.Node) { l.Listen = n.Address("tcp") },
		"tls":         func(n yaml.Node) { l.TLS.read(n, false, "set both: bouncers verify the certificate") },
		"connections": func(n yaml.Node) { l.Connections = int(n.Whole(leastLAPIConnections, mostLAPIConnections)) },
	})
	if l.Listen.Network == "" && !n.Touched("listen") {
		l.Listen, _ = yaml.ParseAddress(lapiListen)
		n.Claim(l.Listen)
	}
	if !l.Listen.Local() && l.TLS == (ListenerTLS{}) && !n.Touched("listen", "tls") {
		n.WrongField("listen", fmt.Sprintf("other hosts can reach %s, and without TLS whoever is between reads the keys of the bouncers", l.Listen),
			"listen at "+lapiListen+", or set tls with cert_file and key_file")
	}
	return l
}

// Write writes the section, if it says anything.
func (s *CrowdSec) Write(p *yaml.Printer) {
	if len(s.LAPI) == 0 && s.Decisions == nil && s.Alerts == nil {
		return
	}
	p.Field(0, "crowdsec", "")
	if len(s.LAPI) > 0 {
		p.Field(1, "lapi", "")
	}
	for i, l := range s.LAPI {
		path := yaml.ItemPath("crowdsec.lapi", i)
		p.Field(2, "- {listen", p.Quote(yaml.JoinPath(path, "listen"), l.Listen.String())+l.TLS.text(p, path)+
			", connections: "+strconv.Itoa(l.Connections)+"}")
	}
	if s.Decisions != nil {
		s.Decisions.write(p)
	}
	if s.Alerts != nil {
		s.Alerts.write(p)
	}
}
