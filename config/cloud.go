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

// CloudList is what the lists have that a node keeps behind somebody's API: IP sets of
// AWS WAF, and lists of Cloudflare's.
type CloudList struct {
	Most  int           // prefixes, in each set
	Every time.Duration // the shortest time between two updates
	// Mark says which lists and items are ours.
	Mark string
	// Endpoint is the API's address; empty for the usual one.
	Endpoint string
	// KeepRemoved leaves the list in force when the config no longer has it.
	KeepRemoved bool
}

// AWSWAF is a pair of IP sets.
type AWSWAF struct {
	Region, Scope string
	V4, V6        AWSWAFSet // one of them may be empty
	// CredentialsFile has the access key; empty: it is in the environment.
	CredentialsFile, Profile string
	CloudList
}

// AWSWAFSet is one IP set, by what its ARN ends with.
type AWSWAFSet struct{ Name, ID string }

// Cloudflare is a list of IP addresses.
type Cloudflare struct {
	Account, ID string // of the list
	TokenFile   string
	CloudList
}

const (
	defaultMark  = "edgeguard"
	defaultEvery = time.Minute
	longestEvery = time.Hour
	// leastAWS and leastCloudflare are the least that every may be: AWS allows a write a
	// second of the whole account in a region, and Cloudflare counts changes in 12 hours.
	leastAWS, leastCloudflare = 10 * time.Second, time.Minute
	// mostAWS is AWS' own bound, mostCloudflare more than plans have.
	mostAWS, mostCloudflare, defaultMost = 10_000, 100_000, 10_000
	// cloudFront is where the sets of the scope CLOUDFRONT are.
	cloudFront = "us-east-1"
)

var (
	region  = regexp.MustCompile(`^[a-z]{2}(-[a-z]+)+-[0-9]{1,2}$`)
	setName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`)
	setID   = regexp.MustCompile(`^[A-Za-z0-9-]{1,36}$`)
	profile = regexp.MustCompile(`^[A-Za-z0-9_.@/-]{1,64}$`)
	hexID   = regexp.MustCompile(`^[0-9a-f]{32}$`)
	mark    = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.:-]{1,31}$`)
)

// fields are those of both kinds.
func (l *CloudList) fields(leastEvery time.Duration, most uint32, more yaml.Fields) yaml.Fields {
	more["most"] = func(n yaml.Node) { l.Most = int(n.Whole(1, most)) }
	more["every"] = func(n yaml.Node) { l.Every = n.Span(leastEvery, longestEvery) }
	more["mark"] = func(n yaml.Node) { l.Mark = n.Like(mark, "letters, digits, _, ., : and -, at most 32") }
	more["endpoint"] = func(n yaml.Node) { l.Endpoint = readEndpoint(n) }
	more["on_remove"] = func(n yaml.Node) { l.KeepRemoved = n.Choice("empty", "keep") == "keep" }
	return more
}

func newCommon() CloudList {
	return CloudList{Most: defaultMost, Every: defaultEvery, Mark: defaultMark}
}

// readAWSWAF reads a pair of IP sets.
func readAWSWAF(n yaml.Node) AWSWAF {
	a := AWSWAF{Scope: "REGIONAL", CloudList: newCommon()}
	n.Mapping(a.fields(leastAWS, mostAWS, yaml.Fields{
		"region":           func(n yaml.Node) { a.Region = n.Like(region, "a region such as eu-central-1") },
		"scope":            func(n yaml.Node) { a.Scope = n.Choice("REGIONAL", "CLOUDFRONT") },
		"ipv4":             func(n yaml.Node) { a.V4 = readSet(n) },
		"ipv6":             func(n yaml.Node) { a.V6 = readSet(n) },
		"credentials_file": func(n yaml.Node) { a.CredentialsFile = n.AbsPath() },
		"profile":          func(n yaml.Node) { a.Profile = n.Like(profile, "the name of a profile in credentials_file") },
	}))
	switch {
	case a.Scope == "CLOUDFRONT" && a.Region == "" && !n.Touched("region"):
		a.Region = cloudFront
	case a.Scope == "CLOUDFRONT" && a.Region != cloudFront && !n.Touched("region"):
		n.WrongField("region", "is not where sets of the scope CLOUDFRONT are", "use "+cloudFront+", or remove it")
	case a.Region == "" && !n.Touched("region"):
		n.Wrong("has no region", "set region to that of the set's ARN, such as eu-central-1")
	}
	if a.V4.ID == "" && a.V6.ID == "" && !n.Touched("ipv4", "ipv6") {
		n.Wrong("has no IP set", "set ipv4, ipv6 or both, such as ipv4: {name: edgeguard4, id: a1b2c3d4-…}")
	}
	if a.V4.ID == a.V6.ID && a.V4.ID != "" {
		n.WrongField("ipv6", "is the same set as ipv4", "a set has addresses of one kind: make another")
	}
	if a.Profile != "" && a.CredentialsFile == "" && !n.Touched("credentials_file") {
		n.WrongField("profile", "has no file that it is in", "set credentials_file, or remove it")
	}
	return a
}

func readSet(n yaml.Node) (s AWSWAFSet) {
	n.Mapping(yaml.Fields{
		"name": func(n yaml.Node) { s.Name = n.Like(setName, "the name of the IP set") },
		"id":   func(n yaml.Node) { s.ID = n.Like(setID, "the ID of the IP set: the last part of its ARN") },
	})
	if s.Name == "" && !n.Touched("name") {
		n.Wrong("has no name", "set name and id: its ARN ends with ipset/NAME/ID")
	} else if s.ID == "" && !n.Touched("id") {
		n.Wrong("has no id", "set name and id: its ARN ends with ipset/NAME/ID")
	}
	return s
}

// readCloudflare reads a list of Cloudflare's.
func readCloudflare(n yaml.Node) Cloudflare {
	c := Cloudflare{CloudList: newCommon()}
	n.Mapping(c.fields(leastCloudflare, mostCloudflare, yaml.Fields{
		"account":    func(n yaml.Node) { c.Account = n.Like(hexID, "the account's ID: 32 hex digits") },
		"list":       func(n yaml.Node) { c.ID = n.Like(hexID, "the list's ID, which is not its name: 32 hex digits") },
		"token_file": func(n yaml.Node) { c.TokenFile = n.AbsPath() },
	}))
	for _, missing := range []struct{ name, value, fix string }{
		{"account", c.Account, "set it to the account's ID: 32 hex digits of the dashboard's address"},
		{"list", c.ID, "set it to the list's ID: 32 hex digits"},
		{"token_file", c.TokenFile, "set it to a file with an API token that has the permission Account Filter Lists: Edit"},
	} {
		if missing.value == "" && !n.Touched(missing.name) {
			n.Wrong("has no "+missing.name, missing.fix)
		}
	}
	return c
}

// readEndpoint reads the address of an API. A secret goes there, so it is https but for
// this host.
func readEndpoint(n yaml.Node) string {
	text, ok := n.Value()
	if !ok {
		return ""
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.ContainsAny(text, " \t\"\\"):
		n.Wrong("is not an address of an API", "use one such as https://vpce-1-2.wafv2.eu-central-1.vpce.amazonaws.com")
	case u.Scheme != "https" && !(u.Scheme == "http" && isLoopback(u.Hostname())):
		n.Wrong("is not https", "use https: the list's secret goes there. http is for addresses of this host")
	}
	return strings.TrimRight(text, "/")
}

func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}

// writeAWSWAF and WriteCloudflare write the settings of all lists of a kind; nothing for
// none.
func writeAWSWAF(p *yaml.Printer, all []AWSWAF) {
	if len(all) > 0 {
		p.Field(1, "awswaf", "")
	}
	for i, a := range all {
		at := yaml.ItemPath("enforce.awswaf", i)
		text := fmt.Sprintf("%s, scope: %s", yaml.Quote(a.Region), a.Scope)
		for _, s := range []struct {
			name string
			set  AWSWAFSet
		}{{"ipv4", a.V4}, {"ipv6", a.V6}} {
			if s.set.ID != "" {
				text += fmt.Sprintf(", %s: {name: %s, id: %s}", s.name, yaml.Quote(s.set.Name), yaml.Quote(s.set.ID))
			}
		}
		if a.CredentialsFile != "" {
			text += ", credentials_file: " + p.Quote(yaml.JoinPath(at, "credentials_file"), a.CredentialsFile)
		}
		if a.Profile != "" {
			text += ", profile: " + yaml.Quote(a.Profile)
		}
		p.Field(2, "- {region", text+a.text(p, at)+"}")
	}
}

// writeCloudflare is described above.
func writeCloudflare(p *yaml.Printer, all []Cloudflare) {
	if len(all) > 0 {
		p.Field(1, "cloudflare", "")
	}
	for i, c := range all {
		at := yaml.ItemPath("enforce.cloudflare", i)
		p.Field(2, "- {account", fmt.Sprintf("%s, list: %s, token_file: %s", yaml.Quote(c.Account), yaml.Quote(c.ID),
			p.Quote(yaml.JoinPath(at, "token_file"), c.TokenFile))+c.text(p, at)+"}")
	}
}

// text returns what both kinds have, as the end of a mapping.
func (l *CloudList) text(p *yaml.Printer, at string) string {
	onRemove := "empty"
	if l.KeepRemoved {
		onRemove = "keep"
	}
	text := fmt.Sprintf(", most: %d, every: %s, mark: %s, on_remove: %s", l.Most, yaml.Duration(l.Every), yaml.Quote(l.Mark), onRemove)
	if l.Endpoint != "" {
		text += ", endpoint: " + p.Quote(yaml.JoinPath(at, "endpoint"), l.Endpoint)
	}
	return text
}
