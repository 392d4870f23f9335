package config

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"

	"edgeguard"
	"edgeguard/config/key"
	"edgeguard/config/yaml"
	"edgeguard/logline"
)

// Sensors is where events come from, besides forward auth.
type Sensors struct {
	AccessLog []AccessLog
	Packet    *Packet // nil for none
}

// AccessLog is one log that is followed: a file or a socket.
type AccessLog struct {
	File        string
	Listen      yaml.Address // unixgram, unix, tcp or udp
	yaml.Access              // to Listen
	UDP
	Format string // "combined" by default
	Zone   string // of times that name none; empty for the host's, or UTC where only that fits
	// Emit is what a line may count as. The default is all that the format can
	// report.
	Emit edgeguard.Kind
	// RefusedWith are statuses with which the server turns a blocked client away, beside
	// those of edgeguard.TreatmentOf.
	RefusedWith []uint16
}

// IsPattern reports whether the log is the files that match a pattern: a path has none without a star.
func (l *AccessLog) IsPattern() bool { return strings.Contains(l.File, "*") }

// Reads reports whether a file is the log, or one of its files.
func (l *AccessLog) Reads(file string) bool {
	if !l.IsPattern() {
		return file == l.File
	}
	matches, _ := filepath.Match(l.File, file) // it was checked
	return matches || file == l.File
}

// OtherFiles returns the files, and patterns of files, that are not read by a log's pattern though they match
// it: those of all logs that have no pattern, and of those before it.
func (s *Sensors) OtherFiles(log int) (others []string) {
	for i := range s.AccessLog {
		if l := &s.AccessLog[i]; l.File != "" && i != log && (i < log || !l.IsPattern()) {
			others = append(others, l.File)
		}
	}
	return others
}

// UDP is what only a log that is received by UDP has.
type UDP struct {
	From          []netip.Prefix // who may send, where other hosts can
	ReceiveBuffer int64          // bytes; 0 for the sensor's default
}

// leastReceive is the least receive buffer of UDP: room for one datagram.
const leastReceive = 64 << 10

func (s *Sensors) keys() key.List {
	return key.List{
		key.Items("accesslog", &s.AccessLog, s.readLog, (*AccessLog).keys),
		key.Optional("packet", &s.Packet, readPacket, (*Packet).keys),
	}
}

func (l *AccessLog) keys() key.List {
	return slices.Concat(key.List{
		key.Value("file", &l.File, readFile, "a path", "a file to follow, through every rotation. It may come later. The first start begins at its end, later ones where the last stopped. A `*` means [many files](#one-log-a-host)").Usual("one of both"),
		key.Address("listen", &l.Listen, l.readListen, "an address", "a socket to receive lines at, see below. Who may write there can get any address blocked").Usual("one of both"),
	}, accessKeys(&l.Access, groupMode), key.List{
		key.Prefixes("from", &l.From, "the senders of `udp:`; refused on loopback").If(l.From != nil).Usual("required beyond loopback"),
		key.Size("receive_buffer", &l.ReceiveBuffer, leastReceive, key.AnySize, "of `udp:`. The kernel gives at most `net.core.rmem_max`").If(l.ReceiveBuffer != 0).Usual("`4MiB`"),
		key.Text("format", &l.Format, readFormat, "[names](formats.md#names)", "a name such as `json`, `auto`, or an nginx `log_format`, HAProxy `log-format` or Apache `LogFormat` in full; an envelope such as `docker:` before it"),
		key.Text("zone", &l.Zone, readZone, "`Europe/Berlin`, `UTC`, `+05:30`…", "of times that [name none](formats.md#times-without-a-zone)").
			Usual("the host's, or UTC if that makes the lines fresh"),
		key.Of("emit", &l.Emit, readKinds(edgeguard.Kinds()), kindsText, "a list of kinds", "what a line counts as. `response` alone beside forward auth that counts requests").
			Usual("all that the format reports"),
		key.Of("refused_with", &l.RefusedWith, readStatuses, portsText, "statuses from 200 to 599", "how this server turns blocked clients away, beside 403, 429 and 444, such as `[302]`. Never a status that others get too: it decides whether [`blocked_served`](operations.md#alarms) is raised").If(l.RefusedWith != nil),
	})
}

// plain reads text without further checks.
func plain(n yaml.Node) string {
	text, _ := n.Text()
	return text
}

func value(n yaml.Node) string {
	text, _ := n.Value()
	return text
}

func readFile(n yaml.Node) string {
	file := value(n)
	if l := (AccessLog{File: file}); !l.IsPattern() {
		return file
	}
	if _, err := filepath.Match(file, ""); err != nil {
		n.Wrong(fmt.Sprintf("%q is no pattern", yaml.Clip(file)), `close each [, and write \[ where a name has one`)
	} else if strings.Contains(file, "**") {
		n.Wrong(fmt.Sprintf("%q has **, which is not known", yaml.Clip(file)), "write * for each folder, such as /var/www/*/logs/access.log")
	}
	return file
}

func literal(n yaml.Node) string {
	text, _ := n.Literal()
	return text
}

func readFormat(n yaml.Node) string {
	text := literal(n)
	if _, err := logline.ParseFormat(text); err != nil {
		n.Wrong(err.Error(), "docs/formats.md has what each is")
	}
	return text
}

func (l *AccessLog) readListen(n yaml.Node) yaml.Address {
	l.Listen = n.Address("unixgram", "unix", "tcp", "udp")
	l.warnOpen(n)
	return l.Listen
}

func readZone(n yaml.Node) string {
	text, ok := n.Text()
	if !ok {
		return ""
	}
	if _, err := ParseZone(text); err != nil {
		n.Wrong(fmt.Sprintf("%q is no zone", yaml.Clip(text)), "use a name such as Europe/Berlin or UTC, or an offset such as \"+05:30\"; without zone it is the host's")
	}
	return text
}

// readKinds returns how a list of kinds is read, each of these words.
func readKinds(words []string) func(yaml.Node) edgeguard.Kind {
	return func(n yaml.Node) (kinds edgeguard.Kind) {
		empty := true
		n.List(func(n yaml.Node) {
			kind, _ := edgeguard.ParseKind(n.Choice(words...))
			kinds, empty = kinds|kind, false
		})
		if empty && !n.Touched() {
			n.Wrong("is an empty list", "name at least one kind, such as "+words[0])
		}
		return kinds
	}
}

func readStatuses(n yaml.Node) (all []uint16) {
	n.List(func(n yaml.Node) {
		status := uint16(n.Whole(200, 599))
		all = append(all, status)
		if status >= 200 && status < 300 || status == 304 || status == 404 {
			n.Warn(fmt.Sprintf("%d is also what a server answers to whom it serves: the log would not show that blocked addresses are served", status),
				"refuse with a status of its own, such as 429")
		}
	})
	return all
}

func (l *AccessLog) entry() Entry {
	s := logSource(l.Format)
	s.kinds &= l.Emit
	return Entry{Files: logFiles, source: s, counts: s.kinds&edgeguard.KindRequest != 0}
}

func newAccessLog() AccessLog { return AccessLog{Format: logline.Default} }

func (s *Sensors) readLog(n yaml.Node) AccessLog {
	l := newAccessLog()
	l.keys().Read(n)
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
	s.checkTwice(n, l.File)
	return l
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
	for i, log := range s.AccessLog {
		if file != "" && log.File == file {
			n.Wrong(fmt.Sprintf("%q is already followed", yaml.Clip(file))+n.Elsewhere(fmt.Sprintf("sensors.accesslog[%d].file", i)), "remove one of them")
		}
	}
}

func kindsText(kinds edgeguard.Kind) string {
	return yaml.Flow(strings.FieldsFunc(kinds.String(), func(r rune) bool { return r == '+' }))
}
