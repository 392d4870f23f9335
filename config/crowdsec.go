package config

import (
	"fmt"

	"edgeguard/config/key"
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

func (s *CrowdSec) keys() key.List {
	return key.List{
		key.Items("lapi", &s.LAPI, readLAPI, (*LAPI).keys),
		key.Optional("decisions", &s.Decisions, readDecisions, (*CrowdSecDecisions).keys).Lines(),
		key.Optional("alerts", &s.Alerts, readAlerts, (*CrowdSecAlerts).keys).Lines(),
	}
}

func (l *LAPI) keys() key.List {
	return key.List{
		key.Address("listen", &l.Listen, func(n yaml.Node) yaml.Address { return n.Address("tcp") }, "`host:port`", "where bouncers connect. Without `tls` on loopback only: each request carries the key").Usual("`" + lapiListen + "`"),
		l.TLS.key(false, "set both: bouncers verify the certificate",
			"edgeguard's `cert_file` and `key_file`; with `client_ca_file`, bouncers need a certificate of that CA. Renewed files are read without a reload"),
		key.Whole("connections", &l.Connections, leastLAPIConnections, mostLAPIConnections, "how many may be open; 64 requests at a time for one key"),
	}
}

func (l *LAPI) entry() Entry {
	return Entry{Listener: &Listener{Address: l.Listen, TLS: l.TLS, Connections: &l.Connections}, copies: "bouncers at " + l.Listen.String()}
}

func newLAPI() LAPI { return LAPI{Connections: defaultConnections} }

func readLAPI(n yaml.Node) LAPI {
	l := newLAPI()
	l.keys().Read(n)
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
