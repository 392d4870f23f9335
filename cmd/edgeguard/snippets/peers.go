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

// PeersLog reports whether HAProxy's log counts.
func (v Values) PeersLog() bool { return !v.PeersCount && !v.Unlogged }

// Ring returns where a ring of HAProxy sends the log, "" for a log that is no stream.
func (v Values) Ring() string {
	network, address, _ := strings.Cut(v.Log, ":")
	switch {
	case !v.PeersLog():
	case network == "unix":
		return "unix@" + address
	case network == "tcp":
		return address
	}
	return ""
}

// LogTarget returns what follows `log` in a frontend, "" where another program writes the log.
func (v Values) LogTarget() string {
	network, address, _ := strings.Cut(v.Log, ":")
	switch {
	case v.Ring() != "":
		return "ring@edgeguard len 16000 format priority local0 info"
	case network == "unixgram":
		return "unix@" + address + " len 65535 format raw local0 info"
	case network == "udp":
		return address + " len 65535 local0 info"
	}
	return ""
}

// PeerTables returns the tables of the peers section.
func (v Values) PeerTables() string {
	var counts string
	if v.PeersCount {
		counts = v.columns().Declaration()
	}
	return strings.TrimSpace(counts + haproxy.BlockTableLines())
}

// PeerRules returns the lines of a frontend that look up who is blocked, and count if they are to.
func (v Values) PeerRules() string {
	if !v.PeersCount {
		return strings.TrimSpace(haproxy.BlockRuleLines(peersSection))
	}
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
