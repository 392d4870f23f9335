package config

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"edgeguard"
)

// The least that settings may be.
const (
	leastMemory = 16 << 20
	leastPush   = 50 * time.Millisecond
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
		"memory":          func(n node) { c.Memory = n.size(leastMemory) },
		"state":           func(n node) { c.State = n.folder() },
		"rules":           c.readRules,
		"sensors":         c.Sensors.read,
		"enforce":         c.Enforce.read,
		"fleet":           c.readFleet,
	})
}

// folder reads an absolute path: a relative one would depend on where the
// program was started.
func (n node) folder() string {
	text, ok := n.text()
	if ok && !strings.HasPrefix(text, "/") {
		n.wrong("is not an absolute path", "write it from the root, as in /var/lib/edgeguard")
	}
	return text
}

func (s *Sensors) read(n node) {
	n.mapping(fields{
		"accesslog": func(n node) {
			n.list(func(n node) {
				log := AccessLog{Format: "combined", Emit: logKinds}
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
		"file": func(n node) { l.File, _ = n.text() },
		"listen": func(n node) {
			l.Listen = n.address("unixgram", "unix", "tcp")
			if !l.Listen.Local() {
				n.r.warn(n.at, n.path, fmt.Sprintf("%s can be reached from other hosts: whoever does can have any address blocked", l.Listen),
					"listen at 127.0.0.1 or a unix socket, or keep others away by a firewall")
			}
		},
		"format": func(n node) { l.Format, _ = n.text() },
		"emit": func(n node) {
			l.Emit = 0
			n.list(func(n node) {
				kind, _ := edgeguard.ParseKind(n.choice("request", "response"))
				l.Emit |= kind
			})
			if l.Emit == 0 && !n.r.touched(n.path) {
				n.wrong("lists nothing", "name request, response or both")
			}
		},
	})
	if (l.File == "") == (l.Listen.Network == "") && !n.r.touched(n.path, "file", "listen") {
		n.wrong("wants a file or a socket to listen at, and one of them", "give file: or listen:")
	}
}

// checkTwice refuses a file that is followed already: each of its lines would
// be counted twice.
func (s *Sensors) checkTwice(n node, file string) {
	for _, log := range s.AccessLog {
		if file != "" && log.File == file {
			n.wrong(fmt.Sprintf("%q is followed already", clip(file)), "remove one of them")
		}
	}
}

// defaultPackets are the kinds that a capture counts unless told: what is
// cheap to see, and not every packet.
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
		n.wrong("names no interface", "give interface:, such as eth0")
	}
}

func (c *Config) readFleet(n node) {
	n.notActedOn()
	f := &Fleet{Namespace: "edgeguard", Push: 500 * time.Millisecond}
	c.Fleet = f
	n.mapping(fields{
		"redis":         func(n node) { f.Redis = n.redis() },
		"namespace":     func(n node) { f.Namespace, _ = n.text() },
		"password_file": func(n node) { f.PasswordFile = n.folder() },
		"push":          func(n node) { f.Push = n.duration(leastPush) },
		"quiet":         comesLater,
		"share":         comesLater,
		"max_nodes":     comesLater,
		"max_skew":      comesLater,
	})
	if f.Redis == "" && !n.r.touched(n.path, "redis") {
		n.wrong("names no Redis", "give redis:, such as rediss://redis.internal:6379/0")
	}
}

// redis reads the address of a Redis server, without its password: a config is
// shown, copied and kept in version control.
func (n node) redis() string {
	text, ok := n.text()
	if !ok {
		return ""
	}
	address, err := url.Parse(text)
	if err != nil || address.Scheme != "redis" && address.Scheme != "rediss" && address.Scheme != "unix" {
		n.wrong("is no address of a Redis", "write one such as rediss://redis.internal:6379/0 or unix:///run/redis.sock")
		return ""
	}
	if _, has := address.User.Password(); has {
		n.wrong("holds a password", "put it in a file and name that in fleet.password_file")
		return ""
	}
	return text
}

// touched reports whether one of a mapping's fields has a problem, so that its
// absence need not be told.
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
