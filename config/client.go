package config

import (
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"time"

	"edgeguard/config/key"
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

func newDecisions() *CrowdSecDecisions {
	return &CrowdSecDecisions{Every: usualEvery, Most: usualEntries}
}

func (d *CrowdSecDecisions) keys() key.List {
	const some = "up to 64 texts, in any case"
	return append(d.LAPIServer.keys(),
		key.Path("key_file", &d.KeyFile, "the key that `cscli bouncers add NAME` prints. A new one needs no reload").Usual("required"),
		key.Span("every", &d.Every, leastEvery, mostCrowdSecEvery, "time between two questions. The whole list is read once an hour, and after each failure"),
		key.Whole("most", &d.Most, 1, mostEntries, "how many may be held, besides `max_imported`"),
		key.Words("origins", &d.Origins, words, some, "who must have made them, such as `[CAPI, lists]` (`CAPI` is the community, `cscli` and `crowdsec` your own)").Usual("all"),
		key.Words("scenarios_containing", &d.Containing, words, some, "texts of which the scenario must contain one").Usual("all"),
		key.Words("scenarios_not_containing", &d.NotContaining, words, some, "texts of which the scenario must contain none"),
	)
}

func (d *CrowdSecDecisions) entry() Entry { return Entry{Secrets: []Secret{{"key_file", d.KeyFile}}} }

func readDecisions(n yaml.Node) *CrowdSecDecisions {
	d := newDecisions()
	d.keys().Read(n)
	d.LAPIServer.settle(n)
	if d.KeyFile == "" && !n.Touched("key_file") {
		n.Wrong("has no key_file", "set it to a file with the key that `cscli bouncers add edgeguard` prints")
	}
	return d
}

func (a *CrowdSecAlerts) keys() key.List {
	return append(a.LAPIServer.keys(),
		key.Like("machine_id", &a.Machine, machineName, "the name that `cscli machines add` was given",
			"the password's: `cscli machines add NAME --password PASSWORD`").Usual("required"),
		key.Path("password_file", &a.PasswordFile, "its password").Usual("required"),
		key.Truth("manual", &a.Manual, "report blocks by hand too"),
	)
}

func (a *CrowdSecAlerts) entry() Entry {
	return Entry{Secrets: []Secret{{"password_file", a.PasswordFile}}}
}

func readAlerts(n yaml.Node) *CrowdSecAlerts {
	a := &CrowdSecAlerts{}
	a.keys().Read(n)
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

// keys are those of a server.
func (s *LAPIServer) keys() key.List {
	return key.List{
		key.Value("url", &s.URL, readLAPIURL, "`https://` beyond this host", "its LAPI").Usual("required"),
		key.Path("ca_file", &s.CAFile, "certificates to trust, in PEM. Read again when the LAPI's is refused").Usual("those of the host"),
		key.Truth("insecure", &s.Insecure, "`true`: `http://` to another host, where a firewall, VPN or container network protects the secret"),
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
