package config

import (
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"time"

	"edgeguard/config/yaml"
)

// LAPIServer is a LAPI that the node asks, or reports to.
type LAPIServer struct {
	URL    string // without a slash at its end
	CAFile string // who signs its certificate; empty for those the host trusts
	// Insecure allows http:// beyond this host.
	Insecure bool
}

// CrowdSecDecisions is a LAPI whose decisions this node takes.
type CrowdSecDecisions struct {
	LAPIServer
	KeyFile string        // holds the key of a bouncer
	Every   time.Duration // between two questions
	Most    int           // how many decisions may be held
	// Which are taken, in small letters; empty for all.
	Origins, Containing, NotContaining []string
}

// CrowdSecAlerts is a LAPI to which this node reports the blocks of its rules.
type CrowdSecAlerts struct {
	LAPIServer
	Machine      string // its name there
	PasswordFile string
	Manual       bool // blocks by hand are reported too
}

// Bounds and defaults of what is asked of a LAPI.
const (
	usualEvery        = 10 * time.Second
	leastEvery        = time.Second
	mostCrowdSecEvery = time.Hour
	usualEntries      = 100_000
	mostEntries       = 1_000_000
	mostWords         = 64
)

var machineName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.@-]{0,127}$`)

func readDecisions(n yaml.Node) *CrowdSecDecisions {
	d := &CrowdSecDecisions{Every: usualEvery, Most: usualEntries}
	fields := d.LAPIServer.fields()
	fields["key_file"] = func(n yaml.Node) { d.KeyFile = n.AbsPath() }
	fields["every"] = func(n yaml.Node) { d.Every = n.Span(leastEvery, mostCrowdSecEvery) }
	fields["most"] = func(n yaml.Node) { d.Most = int(n.Whole(1, mostEntries)) }
	fields["origins"] = func(n yaml.Node) { d.Origins = words(n) }
	fields["scenarios_containing"] = func(n yaml.Node) { d.Containing = words(n) }
	fields["scenarios_not_containing"] = func(n yaml.Node) { d.NotContaining = words(n) }
	n.Mapping(fields)
	d.LAPIServer.settle(n)
	if d.KeyFile == "" && !n.Touched("key_file") {
		n.Wrong("has no key_file", "set it to a file with the key that `cscli bouncers add edgeguard` prints")
	}
	return d
}

func readAlerts(n yaml.Node) *CrowdSecAlerts {
	a := &CrowdSecAlerts{}
	fields := a.LAPIServer.fields()
	fields["machine_id"] = func(n yaml.Node) { a.Machine = n.Like(machineName, "the name that `cscli machines add` was given") }
	fields["password_file"] = func(n yaml.Node) { a.PasswordFile = n.AbsPath() }
	fields["manual"] = func(n yaml.Node) { a.Manual = n.Truth() }
	n.Mapping(fields)
	a.LAPIServer.settle(n)
	if (a.Machine == "" || a.PasswordFile == "") && !n.Touched("machine_id", "password_file") {
		n.Wrong("requires machine_id and password_file", "set both to what `cscli machines add NAME --password PASSWORD` was given")
	}
	return a
}

// words reads texts that are compared in small letters.
func words(n yaml.Node) []string {
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
func (s *LAPIServer) fields() yaml.Fields {
	return yaml.Fields{
		"url":      func(n yaml.Node) { s.URL = readLAPIURL(n) },
		"ca_file":  func(n yaml.Node) { s.CAFile = n.AbsPath() },
		"insecure": func(n yaml.Node) { s.Insecure = n.Truth() },
	}
}

// urlForms is the fix for what is not the address of a LAPI.
const urlForms = "use https://HOST:PORT, or http://127.0.0.1:8080 on this host"

func readLAPIURL(n yaml.Node) string {
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
func (s *LAPIServer) settle(n yaml.Node) {
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
		n.WrongField("url", fmt.Sprintf("sends a secret to %s in plain text", yaml.Clip(u.Hostname())),
			"use https://, or set insecure: true if a firewall or VPN protects it")
	}
}

// loopback reports whether a host is this one, judged by its name.
func loopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.Unmap().IsLoopback()
}

func (d *CrowdSecDecisions) write(p *yaml.Printer) {
	const section = "crowdsec.decisions"
	p.Field(1, "decisions", "")
	d.LAPIServer.write(p, section)
	p.Given(2, section, "key_file", d.KeyFile)
	p.Field(2, "every", yaml.Duration(d.Every))
	p.Field(2, "most", fmt.Sprint(d.Most))
	for _, list := range []struct {
		name  string
		texts []string
	}{{"origins", d.Origins}, {"scenarios_containing", d.Containing}, {"scenarios_not_containing", d.NotContaining}} {
		if len(list.texts) > 0 {
			p.Field(2, list.name, yaml.Flow(list.texts))
		}
	}
}

func (a *CrowdSecAlerts) write(p *yaml.Printer) {
	const section = "crowdsec.alerts"
	p.Field(1, "alerts", "")
	a.LAPIServer.write(p, section)
	p.Field(2, "machine_id", yaml.Quote(a.Machine))
	p.Given(2, section, "password_file", a.PasswordFile)
	p.Field(2, "manual", fmt.Sprint(a.Manual))
}

func (s *LAPIServer) write(p *yaml.Printer, section string) {
	p.Given(2, section, "url", s.URL)
	p.Given(2, section, "ca_file", s.CAFile)
	p.Field(2, "insecure", fmt.Sprint(s.Insecure))
}
