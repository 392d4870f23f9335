package config

import (
	"fmt"

	"edgeguard"
	"edgeguard/config/yaml"
	"edgeguard/logline"
)

const (
	// leastMemory is the least that memory may be.
	leastMemory = 16 << 20
	// leastBlocks and mostBlocks are what max_blocks and max_imported may be.
	leastBlocks, mostBlocks = 1000, 1 << 24
	// leastReceive is the least receive buffer of UDP: room for one datagram.
	leastReceive = 64 << 10
	// mostSamples is what samples may be, and its default.
	mostSamples = 16
)

// read reads the file's own mapping.
func (c *Config) read(n yaml.Node, r *reader) {
	n.Mapping(yaml.Fields{
		"node":            func(n yaml.Node) { c.Node, _ = n.Text() },
		"mode":            func(n yaml.Node) { c.Monitor = n.Choice("enforce", "monitor") == "monitor" },
		"listen":          c.Listen.read,
		"trusted_proxies": func(n yaml.Node) { c.TrustedProxies = n.Prefixes() },
		"allowlist":       func(n yaml.Node) { c.Allowlist = n.Prefixes() },
		"protected":       func(n yaml.Node) { c.Protected = n.Prefixes() },
		"own_hosts":       func(n yaml.Node) { c.OwnHosts = n.Words() },
		"wide":            func(n yaml.Node) { c.Wide = readWide(n) },
		"memory":          func(n yaml.Node) { c.Memory = n.Size(leastMemory) },
		"max_blocks":      func(n yaml.Node) { c.MaxBlocks = int(n.Whole(leastBlocks, mostBlocks)) },
		"max_imported":    func(n yaml.Node) { c.MaxImported = int(n.Whole(leastBlocks, mostBlocks)) },
		"roll_up":         func(n yaml.Node) { c.RollUp = n.Truth() },
		"state":           func(n yaml.Node) { c.State = n.AbsPath() },
		"overlay":         func(n yaml.Node) { c.Overlay = n.Truth() },
		"samples":         func(n yaml.Node) { c.Samples = int(n.Whole(0, mostSamples)) },
		"samples_for":     func(n yaml.Node) { c.SamplesForReaders = n.Choice("operator", "reader") == "reader" },
		"log":             c.Log.read,
		"presets":         r.readPresets,
		"rules":           c.readRules,
		"sensors":         c.Sensors.read,
		"haproxy":         c.HAProxy.Read,
		"crowdsec":        c.CrowdSec.Read,
		"blocklists":      c.Blocklists.Read,
		"enforce":         c.Enforce.Read,
		"notify":          c.Notify.Read,
		"floods":          c.Floods.read,
		"crawlers":        c.readCrawlers,
		"fleet":           c.readFleet,
	})
}

func (s *Sensors) read(n yaml.Node) {
	n.Mapping(yaml.Fields{
		"accesslog": func(n yaml.Node) {
			n.List(func(n yaml.Node) {
				log := AccessLog{Format: logline.Default}
				log.read(n)
				s.checkTwice(n, log.File)
				s.AccessLog = append(s.AccessLog, log)
			})
		},
		"packet": func(n yaml.Node) {
			n.NotActedOn()
			s.Packet = &Packet{Kinds: defaultPackets}
			s.Packet.read(n)
		},
	})
}

func (l *AccessLog) read(n yaml.Node) {
	n.Mapping(yaml.Fields{
		"file": func(n yaml.Node) { l.File, _ = n.Value() },
		"listen": func(n yaml.Node) {
			l.Listen = n.Address("unixgram", "unix", "tcp", "udp")
			l.warnOpen(n)
		},
		"from":           func(n yaml.Node) { l.From = n.Prefixes() },
		"receive_buffer": func(n yaml.Node) { l.ReceiveBuffer = n.Size(leastReceive) },
		"mode":           func(n yaml.Node) { l.Mode = n.Mode() },
		"group":          func(n yaml.Node) { l.Group = n.Group() },
		"format":         func(n yaml.Node) { l.Format, _ = n.Literal() },
		"refused_with": func(n yaml.Node) {
			n.List(func(n yaml.Node) {
				status := uint16(n.Whole(200, 599))
				l.RefusedWith = append(l.RefusedWith, status)
				if status >= 200 && status < 300 || status == 304 || status == 404 {
					n.Warn(fmt.Sprintf("%d is also what a server answers to whom it serves: the log would not show that blocked addresses are served", status),
						"refuse with a status of its own, such as 429")
				}
			})
		},
		"emit": func(n yaml.Node) {
			l.Emit = 0
			n.List(func(n yaml.Node) {
				kind, _ := edgeguard.ParseKind(n.Choice(edgeguard.Kinds()...))
				l.Emit |= kind
			})
			if l.Emit == 0 && !n.Touched() {
				n.Wrong("is an empty list", "name at least one kind, such as request or auth_failure")
			}
		},
	})
	if (l.File == "") == (l.Listen.Network == "") && !n.Touched("file", "listen") {
		n.Wrong("requires exactly one of file and listen", "set one of them")
	}
	if l.File != "" && l.Access != (yaml.Access{}) && !n.Touched("mode", "group") {
		n.Wrong("has a mode or a group, which apply to sockets only", "remove them")
	}
	if !n.Touched("listen", "from", "receive_buffer") {
		l.checkUDP(n)
	}
	if l.Emit == 0 {
		l.Emit = logSource(l.Format).kinds
	}
	l.Access = n.Access(l.Listen, l.Access, yaml.GroupMode, "any user can have any address blocked")
}

// warnOpen warns of an address at which others than the server can write lines.
func (l *AccessLog) warnOpen(n yaml.Node) {
	at := l.Listen
	switch {
	case at.Network == "udp" && at.Local():
		n.Warn(fmt.Sprintf("every program of this host can send forged lines to %s, and have any address blocked", at),
			"use unixgram: with a group, or a file, where the server can")
	case at.Network == "udp":
		n.Warn(fmt.Sprintf("whoever can send to %s can forge lines, and their sender: they raise alarms and block no address", at),
			"run edgeguard beside the server, where it can block")
	case !at.Local():
		n.Warn(fmt.Sprintf("%s is reachable from other hosts, which can have any address blocked", at),
			"listen at 127.0.0.1 or on a unix socket, or protect it with a firewall")
	}
}

// checkUDP checks the keys that only UDP has.
func (l *AccessLog) checkUDP(n yaml.Node) {
	udp := l.Listen.Network == "udp"
	switch {
	case !udp && (l.From != nil || l.ReceiveBuffer != 0):
		n.Wrong("has from or receive_buffer, which apply to udp: only", "remove them")
	case udp && l.Listen.Local() && l.From != nil:
		n.Wrong("has from, but only this host can send to loopback", "remove it")
	case udp && !l.Listen.Local() && len(l.From) == 0:
		n.Wrong(fmt.Sprintf("%s is reachable from other hosts, and from does not say which may send", l.Listen),
			"set from, such as [192.0.2.7], or listen at udp:127.0.0.1:5514")
	}
}

// checkTwice refuses a file that is followed already: each of its lines would
// be counted twice.
func (s *Sensors) checkTwice(n yaml.Node, file string) {
	for _, log := range s.AccessLog {
		if file != "" && log.File == file {
			n.Wrong(fmt.Sprintf("%q is already followed", yaml.Clip(file)), "remove one of them")
		}
	}
}

// defaultPackets are the kinds that a capture counts by default: what is cheap to
// see, and not every packet.
const defaultPackets = edgeguard.KindHandshake | edgeguard.KindSYN

func (p *Packet) read(n yaml.Node) {
	n.Mapping(yaml.Fields{
		"interface": func(n yaml.Node) { p.Interface, _ = n.Text() },
		"kinds": func(n yaml.Node) {
			p.Kinds = 0
			n.List(func(n yaml.Node) {
				kind, _ := edgeguard.ParseKind(n.Choice(edgeguard.Kinds()...))
				p.Kinds |= kind
			})
		},
	})
	if p.Interface == "" && !n.Touched("interface") {
		n.Wrong("has no interface", "set interface, such as eth0")
	}
}
