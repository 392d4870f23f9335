package snippets

import (
	"cmp"
	"strings"

	"edgeguard/haproxy"
	"edgeguard/rules"
)

const (
	// peersSection is the section of haproxy.cfg with the tables.
	peersSection = "edgeguard"
	// peersSocket is where edgeguard listens: inside the chroot of Debian's haproxy.cfg.
	peersSocket = "unix:/var/lib/haproxy/edgeguard/peers.sock"
	// peersCounter is the sticky counter that tracks clients: others begin with sc0.
	peersCounter = 2
)

// columns returns the rules that HAProxy counts: those of a node without a config, if
// none are given.
func (v Values) columns() *haproxy.Columns {
	set := v.Rules
	if set == nil {
		set, _ = rules.Compile([]rules.Spec{{Name: "default", Threshold: 2000}}) // no problem: a constant
	}
	return haproxy.ColumnsOf(set)
}

// PeerServer returns where HAProxy finds edgeguard.
func (v Values) PeerServer() string {
	address := cmp.Or(v.Peers, peersSocket)
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		return "unix@" + path
	}
	return address + " ssl verify required ca-file /etc/haproxy/edgeguard-ca.pem crt /etc/haproxy/edgeguard.pem"
}

// PeerTables returns the tables of the peers section.
func (v Values) PeerTables() string {
	return strings.TrimSpace(v.columns().Declaration() + haproxy.BlockTableLines())
}

// PeerRules returns the lines of a frontend that count, and look up who is blocked.
func (v Values) PeerRules() string {
	c := v.columns()
	var b strings.Builder
	for _, left := range c.Left {
		b.WriteString("# The rule " + left.Rule + " is not counted here: " + left.Reason + ".\n")
	}
	b.WriteString(c.Frontend(haproxy.ConfigPlace{Peers: peersSection, Slot: peersCounter}))
	b.WriteString(haproxy.BlockRuleLines(peersSection))
	return strings.TrimSpace(b.String())
}

// PeerRefused returns the condition for a request of a blocked client.
func (Values) PeerRefused() string { return haproxy.IfBlocked }
