package config

import (
	"fmt"
	"strings"

	"edgeguard"
)

const (
	// leastMemory is the least that memory may be.
	leastMemory = 16 << 20
	// leastBlocks and mostBlocks are what max_blocks may be.
	leastBlocks, mostBlocks = 1000, 1 << 24
	// leastReceive is the least receive buffer of UDP: room for one datagram.
	leastReceive = 64 << 10
	// mostSamples is what samples may be, and its default.
	mostSamples = 16
)

// read reads the file's own mapping.
func (c *Config) read(n node) {
	n.mapping(fields{
		"node":            func(n node) { c.Node, _ = n.text() },
		"mode":            func(n node) { c.Monitor = n.choice("enforce", "monitor") == "monitor" },
		"listen":          c.Listen.read,
		"trusted_proxies": func(n node) { c.TrustedProxies = n.prefixes() },
		"allowlist":       func(n node) { c.Allowlist = n.prefixes() },
		"protected":       func(n node) { c.Protected = n.prefixes() },
		"own_hosts":       func(n node) { c.OwnHosts = n.words() },
		"wide":            func(n node) { c.Wide = n.wide() },
		"memory":          func(n node) { c.Memory = n.size(leastMemory) },
		"max_blocks":      func(n node) { c.MaxBlocks = int(n.whole(leastBlocks, mostBlocks)) },
		"roll_up":         func(n node) { c.RollUp = n.truth() },
		"state":           func(n node) { c.State = n.folder() },
		"overlay":         func(n node) { c.Overlay = n.truth() },
		"samples":         func(n node) { c.Samples = int(n.whole(0, mostSamples)) },
		"samples_for":     func(n node) { c.SamplesForReaders = n.choice("operator", "reader") == "reader" },
		"log":             c.Log.read,
		"presets":         n.r.readPresets,
		"rules":           c.readRules,
		"sensors":         c.Sensors.read,
		"enforce":         c.Enforce.read,
		"floods":          c.Floods.read,
		"crawlers":        c.readCrawlers,
		"fleet":           c.readFleet,
	})
}

// folder reads an absolute path: a relative one would depend on where the
// program was started.
func (n node) folder() string {
	text, ok := n.value()
	if ok && !strings.HasPrefix(text, "/") {
		n.wrong("is not an absolute path", "use a path such as /var/lib/edgeguard")
	}
	return text
}

func (s *Sensors) read(n node) {
	n.mapping(fields{
		"accesslog": func(n node) {
			n.list(func(n node) {
				log := AccessLog{Format: "combined"}
				log.read(n)
				s.checkTwice(n, log.File)
				s.AccessLog = append(s.AccessLog, log)
			})
		},
		"packet": func(n node) {
			n.notActedOn()
			s.Packet = &Packet{Kinds: defaultPackets}
			s.Packet.read(n)
		},
	})
}

func (l *AccessLog) read(n node) {
	n.mapping(fields{
		"file": func(n node) { l.File, _ = n.value() },
		"listen": func(n node) {
			l.Listen = n.address("unixgram", "unix", "tcp", "udp")
			l.warnOpen(n)
		},
		"from":           func(n node) { l.From = n.prefixes() },
		"receive_buffer": func(n node) { l.ReceiveBuffer = n.size(leastReceive) },
		"mode":           func(n node) { l.Mode = n.mode() },
		"group":          func(n node) { l.Group = n.group() },
		"format":         func(n node) { l.Format, _ = n.literal() },
		"emit": func(n node) {
			l.Emit = 0
			n.list(func(n node) {
				kind, _ := edgeguard.ParseKind(n.choice(edgeguard.Kinds()...))
				l.Emit |= kind
			})
			if l.Emit == 0 && !n.r.touched(n.path) {
				n.wrong("is an empty list", "name at least one kind, such as request or auth_failure")
			}
		},
	})
	if (l.File == "") == (l.Listen.Network == "") && !n.r.touched(n.path, "file", "listen") {
		n.wrong("requires exactly one of file and listen", "set one of them")
	}
	if l.File != "" && l.Access != (Access{}) && !n.r.touched(n.path, "mode", "group") {
		n.wrong("has a mode or a group, which apply to sockets only", "remove them")
	}
	if !n.r.touched(n.path, "listen", "from", "receive_buffer") {
		l.checkUDP(n)
	}
	if l.Emit == 0 {
		l.Emit = reports(l.Format)
	}
	l.Access = n.access(l.Listen, l.Access, socketMode, "any user can have any address blocked")
}

// warnOpen warns of an address at which others than the server can write lines.
func (l *AccessLog) warnOpen(n node) {
	at := l.Listen
	switch {
	case at.Network == "udp" && at.Local():
		n.r.warn(n.at, n.path, fmt.Sprintf("every program of this host can send forged lines to %s, and have any address blocked", at),
			"use unixgram: with a group, or a file, where the server can")
	case at.Network == "udp":
		n.r.warn(n.at, n.path, fmt.Sprintf("whoever can send to %s can forge lines, and their sender: they raise alarms and block no address", at),
			"run edgeguard beside the server, where it can block")
	case !at.Local():
		n.r.warn(n.at, n.path, fmt.Sprintf("%s is reachable from other hosts, which can have any address blocked", at),
			"listen at 127.0.0.1 or on a unix socket, or protect it with a firewall")
	}
}

// checkUDP checks the keys that only UDP has.
func (l *AccessLog) checkUDP(n node) {
	udp := l.Listen.Network == "udp"
	switch {
	case !udp && (l.From != nil || l.ReceiveBuffer != 0):
		n.wrong("has from or receive_buffer, which apply to udp: only", "remove them")
	case udp && l.Listen.Local() && l.From != nil:
		n.wrong("has from, but only this host can send to loopback", "remove it")
	case udp && !l.Listen.Local() && len(l.From) == 0:
		n.wrong(fmt.Sprintf("%s is reachable from other hosts, and from does not say which may send", l.Listen),
			"set from, such as [192.0.2.7], or listen at udp:127.0.0.1:5514")
	}
}

// checkTwice refuses a file that is followed already: each of its lines would
// be counted twice.
func (s *Sensors) checkTwice(n node, file string) {
	for _, log := range s.AccessLog {
		if file != "" && log.File == file {
			n.wrong(fmt.Sprintf("%q is already followed", clip(file)), "remove one of them")
		}
	}
}

// defaultPackets are the kinds that a capture counts by default: what is cheap to
// see, and not every packet.
const defaultPackets = edgeguard.KindHandshake | edgeguard.KindSYN

func (p *Packet) read(n node) {
	n.mapping(fields{
		"interface": func(n node) { p.Interface, _ = n.text() },
		"kinds": func(n node) {
			p.Kinds = 0
			n.list(func(n node) {
				kind, _ := edgeguard.ParseKind(n.choice(edgeguard.Kinds()...))
				p.Kinds |= kind
			})
		},
	})
	if p.Interface == "" && !n.r.touched(n.path, "interface") {
		n.wrong("has no interface", "set interface, such as eth0")
	}
}

// touched reports whether one of a mapping's fields has a problem, so that its
// absence need not be reported.
func (r *reader) touched(path string, names ...string) bool {
	if r.bad[path] {
		return true
	}
	for _, name := range names {
		if r.bad[join(path, name)] {
			return true
		}
	}
	return false
}
