package config

import (
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"edgeguard/config/key"
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

// keys are those of both kinds.
func (l *CloudList) keys(leastEvery time.Duration, most uint32, holds, marked string) key.List {
	return key.List{
		key.Whole("most", &l.Most, 1, most, holds+". The hottest stay"),
		key.Span("every", &l.Every, leastEvery, longestEvery, "the shortest time between two updates"),
		key.Like("mark", &l.Mark, mark, "letters, digits, _, ., : and -, at most 32",
			marked+": what has it is edgeguard's to take out"),
		key.Either("on_remove", &l.KeepRemoved, "empty", "keep",
			"when the config no longer has the list: what is edgeguard's is taken out, or stays"),
		key.Value("endpoint", &l.Endpoint, readEndpoint, "an https address; http on loopback only",
			"another address of the API, such as a VPC endpoint").Usual("the service's own"),
	}
}

func newCommon() CloudList {
	return CloudList{Most: defaultMost, Every: defaultEvery, Mark: defaultMark}
}

func newAWSWAF() AWSWAF { return AWSWAF{Scope: "REGIONAL", CloudList: newCommon()} }

func (a *AWSWAF) keys() key.List {
	return append(key.List{
		key.Like("region", &a.Region, region, "a region such as eu-central-1",
			"of the set's ARN; `us-east-1` with `scope: CLOUDFRONT`").Usual("required"),
		key.Choice("scope", &a.Scope, []string{"REGIONAL", "CLOUDFRONT"}, "the scope of the sets"),
		key.Group("ipv4", a.V4.keys, a.V4.check, "a set's `name` and `id` (its ARN ends with `ipset/NAME/ID`); left out without"),
		key.Group("ipv6", a.V6.keys, a.V6.check, "the same of IPv6. One of both is required"),
		key.Path("credentials_file", &a.CredentialsFile,
			"as `~/.aws/credentials`, or the JSON of `aws configure export-credentials`. Read for each call").
			Usual("`AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`"),
		key.Like("profile", &a.Profile, profile, "the name of a profile in credentials_file", "the part of the file").Usual("`default`"),
	}, a.CloudList.keys(leastAWS, mostAWS, "how many prefixes it may have", "the first word of a set's description, the comment of Cloudflare's item")...)
}

// entry says what these sets ask of the whole config.
func (a *AWSWAF) entry() Entry {
	return Entry{copies: "AWS WAF in " + a.Region, Secrets: []Secret{{"credentials_file", a.CredentialsFile}}}
}

// readAWSWAF reads a pair of IP sets.
func (s *Enforcers) readAWSWAF(n yaml.Node) AWSWAF {
	a := newAWSWAF()
	a.keys().Read(n)
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
	for _, other := range s.AWSWAF {
		if a.V4.ID != "" && a.V4 == other.V4 || a.V6.ID != "" && a.V6 == other.V6 {
			n.Wrong("has an IP set of another entry", "give each its own sets: they would empty each other's")
		}
	}
	return a
}

func (s *AWSWAFSet) keys() key.List {
	return key.List{
		key.Like("name", &s.Name, setName, "the name of the IP set", ""),
		key.Like("id", &s.ID, setID, "the ID of the IP set: the last part of its ARN", ""),
	}
}

func (s *AWSWAFSet) check(n yaml.Node) {
	if s.Name == "" && !n.Touched("name") {
		n.Wrong("has no name", "set name and id: its ARN ends with ipset/NAME/ID")
	} else if s.ID == "" && !n.Touched("id") {
		n.Wrong("has no id", "set name and id: its ARN ends with ipset/NAME/ID")
	}
}

func newCloudflare() Cloudflare { return Cloudflare{CloudList: newCommon()} }

func (c *Cloudflare) keys() key.List {
	return append(key.List{
		key.Like("account", &c.Account, hexID, "the account's ID: 32 hex digits", "the account that has the list").Usual("required"),
		key.Like("list", &c.ID, hexID, "the list's ID, which is not its name: 32 hex digits", "the list").Usual("required"),
		key.Path("token_file", &c.TokenFile, "an API token. Read for each call").Usual("required"),
	}, c.CloudList.keys(leastCloudflare, mostCloudflare, "how many prefixes it may have", "the first word of a set's description, the comment of Cloudflare's item")...)
}

// entry says what this list asks of the whole config.
func (c *Cloudflare) entry() Entry {
	return Entry{copies: "the Cloudflare list " + c.ID, Secrets: []Secret{{"token_file", c.TokenFile}}}
}

// readCloudflare reads a list of Cloudflare's.
func (s *Enforcers) readCloudflare(n yaml.Node) Cloudflare {
	c := newCloudflare()
	c.keys().Read(n)
	for _, missing := range []struct{ name, value, fix string }{
		{"account", c.Account, "set it to the account's ID: 32 hex digits of the dashboard's address"},
		{"list", c.ID, "set it to the list's ID: 32 hex digits"},
		{"token_file", c.TokenFile, "set it to a file with an API token that has the permission Account Filter Lists: Edit"},
	} {
		if missing.value == "" && !n.Touched(missing.name) {
			n.Wrong("has no "+missing.name, missing.fix)
		}
	}
	if slices.ContainsFunc(s.Cloudflare, func(other Cloudflare) bool { return other.ID == c.ID && c.ID != "" }) {
		n.Wrong("has the list of another entry", "give each its own list: they would empty each other's")
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
