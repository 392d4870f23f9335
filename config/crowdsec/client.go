package crowdsec

import (
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"time"

	"edgeguard/config/read"
	"edgeguard/config/write"
	"edgeguard/config/yamltext"
)

// Server is a LAPI that the node asks, or reports to.
type Server struct {
	URL    string // without a slash at its end
	CAFile string // who signs its certificate; empty for those the host trusts
	// Insecure allows http:// beyond this host.
	Insecure bool
}

// Decisions is a LAPI whose decisions this node takes.
type Decisions struct {
	Server
	KeyFile string        // holds the key of a bouncer
	Every   time.Duration // between two questions
	Most    int           // how many decisions may be held
	// Which are taken, in small letters; empty for all.
	Origins, Containing, NotContaining []string
}

// Alerts is a LAPI to which this node reports the blocks of its rules.
type Alerts struct {
	Server
	Machine      string // its name there
	PasswordFile string
	Manual       bool // blocks by hand are reported too
}

// Bounds and defaults of what is asked of a LAPI.
const (
	usualEvery   = 10 * time.Second
	leastEvery   = time.Second
	mostEvery    = time.Hour
	usualEntries = 100_000
	mostEntries  = 1_000_000
	mostWords    = 64
)

var machineName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.@-]{0,127}$`)

func readDecisions(n read.Node) *Decisions {
	d := &Decisions{Every: usualEvery, Most: usualEntries}
	fields := d.Server.fields()
	fields["key_file"] = func(n read.Node) { d.KeyFile = n.AbsPath() }
	fields["every"] = func(n read.Node) { d.Every = n.Span(leastEvery, mostEvery) }
	fields["most"] = func(n read.Node) { d.Most = int(n.Whole(1, mostEntries)) }
	fields["origins"] = func(n read.Node) { d.Origins = words(n) }
	fields["scenarios_containing"] = func(n read.Node) { d.Containing = words(n) }
	fields["scenarios_not_containing"] = func(n read.Node) { d.NotContaining = words(n) }
	n.Mapping(fields)
	d.Server.settle(n)
	if d.KeyFile == "" && !n.Touched("key_file") {
		n.Wrong("has no key_file", "set it to a file with the key that `cscli bouncers add edgeguard` prints")
	}
	return d
}

func readAlerts(n read.Node) *Alerts {
	a := &Alerts{}
	fields := a.Server.fields()
	fields["machine_id"] = func(n read.Node) { a.Machine = n.Like(machineName, "the name that `cscli machines add` was given") }
	fields["password_file"] = func(n read.Node) { a.PasswordFile = n.AbsPath() }
	fields["manual"] = func(n read.Node) { a.Manual = n.Truth() }
	n.Mapping(fields)
	a.Server.settle(n)
	if (a.Machine == "" || a.PasswordFile == "") && !n.Touched("machine_id", "password_file") {
		n.Wrong("requires machine_id and password_file", "set both to what `cscli machines add NAME --password PASSWORD` was given")
	}
	return a
}

// words reads texts that are compared in small letters.
func words(n read.Node) []string {
	all := n.Words()
	if len(all) > mostWords {
		n.Wrong(fmt.Sprintf("has %d texts", len(all)), fmt.Sprintf("use at most %d", mostWords))
	}
	for i := range all {
		all[i] = strings.ToLower(all[i])
	}
	return all
}

// fields returns how the fields of a server are read.
func (s *Server) fields() read.Fields {
	return read.Fields{
		"url":      func(n read.Node) { s.URL = readURL(n) },
		"ca_file":  func(n read.Node) { s.CAFile = n.AbsPath() },
		"insecure": func(n read.Node) { s.Insecure = n.Truth() },
	}
}

// urlForms is the fix for what is not the address of a LAPI.
const urlForms = "use https://HOST:PORT, or http://127.0.0.1:8080 on this host"

func readURL(n read.Node) string {
	text, ok := n.Value()
	if !ok {
		return ""
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.Opaque != "":
		n.Wrong("is not the address of a LAPI", urlForms)
	case u.User != nil:
		n.Wrong("contains a user or a password", "remove it: edgeguard sends what key_file or password_file holds")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		n.Wrong("has more than a host and a path", urlForms)
	}
	return strings.TrimRight(text, "/")
}

// settle refuses a server that is missing, or to which secrets would go in plain text.
func (s *Server) settle(n read.Node) {
	if n.Touched("url", "ca_file", "insecure") {
		return
	}
	u, err := url.Parse(s.URL)
	switch {
	case s.URL == "" || err != nil:
		n.Wrong("has no url", "set url, such as http://127.0.0.1:8080")
	case u.Scheme == "https":
	case s.CAFile != "":
		n.WrongField("ca_file", "is set, but http:// does not use it", "use an https:// address, or remove ca_file")
	case !s.Insecure && !loopback(u.Hostname()):
		n.WrongField("url", fmt.Sprintf("sends a secret to %s in plain text", read.Clip(u.Hostname())),
			"use https://, or set insecure: true if a firewall or VPN protects it")
	}
}

// loopback reports whether a host is this one, judged by its name.
func loopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.Unmap().IsLoopback()
}

func (d *Decisions) write(p *write.Printer) {
	const section = "crowdsec.decisions"
	p.Field(1, "decisions", "")
	d.Server.write(p, section)
	p.Given(2, section, "key_file", d.KeyFile)
	p.Field(2, "every", yamltext.Duration(d.Every))
	p.Field(2, "most", fmt.Sprint(d.Most))
	for _, list := range []struct {
		name  string
		texts []string
	}{{"origins", d.Origins}, {"scenarios_containing", d.Containing}, {"scenarios_not_containing", d.NotContaining}} {
		if len(list.texts) > 0 {
			p.Field(2, list.name, yamltext.Flow(list.texts))
		}
	}
}

func (a *Alerts) write(p *write.Printer) {
	const section = "crowdsec.alerts"
	p.Field(1, "alerts", "")
	a.Server.write(p, section)
	p.Field(2, "machine_id", yamltext.Quote(a.Machine))
	p.Given(2, section, "password_file", a.PasswordFile)
	p.Field(2, "manual", fmt.Sprint(a.Manual))
}

func (s *Server) write(p *write.Printer, section string) {
	p.Given(2, section, "url", s.URL)
	p.Given(2, section, "ca_file", s.CAFile)
	p.Field(2, "insecure", fmt.Sprint(s.Insecure))
}
