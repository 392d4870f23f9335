package config

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"edgeguard"
	"edgeguard/config/key"
	"edgeguard/config/yaml"
	"edgeguard/feed"
)

// Blocklists is the section `blocklists`: lists of addresses that others publish, in the
// config's order.
type Blocklists []BlocklistSource

// BlocklistSource is one list: where it is, and how far it is trusted.
type BlocklistSource struct {
	Name       string        // the owner of its blocks
	URL, File  string        // one of them
	Every      time.Duration // from one fetch, or look at the file, to the next
	Stale      time.Duration // after which its blocks end without a good fetch
	Most       int           // entries; more await confirmation
	Wide       bool          // prefixes wider than a rule's are blocked
	Private    bool          // the URL's host may have an address that is not of the internet
	CAFile     string        // certificates that are trusted instead of the system's; empty for those
	HeaderFile string        // one header that is sent along; empty for none
}

const (
	// leastFetch is the shortest time between two fetches, leastLook between two looks
	// at a file; everyFetch and everyLook are the defaults.
	leastFetch, everyFetch = 10 * time.Minute, time.Hour
	leastLook, everyLook   = 10 * time.Second, time.Minute
	mostEvery              = 30 * 24 * time.Hour
	leastStale, mostStale  = time.Hour, 365 * 24 * time.Hour
	usualStale             = 7 * 24 * time.Hour
	usualMost              = 100_000
	// mostLists bounds the lists of a node.
	mostLists = 64
	// spamhaus asks for this long between two fetches, and blocks who comes more often.
	spamhaus = time.Hour
)

// crowdSecList is the owner of CrowdSec's decisions, which no list can have.
const crowdSecList = "crowdsec"

func newList() BlocklistSource { return BlocklistSource{Stale: usualStale, Most: usualMost} }

func (l *BlocklistSource) keys() key.List {
	return key.List{
		key.Text("name", &l.Name, readName, "up to 32 letters, digits, `.`, `_`, `-`", "the owner of its blocks. `crowdsec` is taken").Usual("required"),
		key.Value("url", &l.URL, readURL, "`https`; `http` to this host only", "where it is. A user or password in it is an error").Usual("one of both"),
		key.Path("file", &l.File, "a file instead").Usual("one of both"),
		key.Path("ca_file", &l.CAFile, "certificates to trust, in PEM").Usual("the system's"),
		key.Path("header_file", &l.HeaderFile, "a line `Name: value` that is sent along, such as `Authorization: Bearer …`"),
		key.Span("every", &l.Every, leastLook, mostEvery, "from one fetch to the next, up to a tenth later; of a URL at least `10m`. Ask the publisher: Spamhaus wants an hour or more, a day is enough").Usual("`1h`, of a file `1m`"),
		key.Span("stale", &l.Stale, leastStale, mostStale, "after so long without a good answer its blocks end; at least twice `every`. The end that a block shows is up to a quarter later"),
		key.Whole("most", &l.Most, 1, feed.MaxEntries, "a longer list awaits confirmation"),
		key.Truth("wide", &l.Wide, "`true`: prefixes wider than /16 (IPv6 /32) are blocked too, down to /8 (/19)"),
		key.Truth("private", &l.Private, "`true`: the name in `url` may lead into your own network").If(l.Private),
	}
}

func (l *BlocklistSource) entry() Entry {
	return Entry{Secrets: []Secret{{"header_file", l.HeaderFile}}}
}

func (s *Blocklists) read(n yaml.Node) BlocklistSource {
	l := newList()
	l.keys().Read(n)
	switch {
	case slices.ContainsFunc(*s, func(o BlocklistSource) bool { return o.Name == l.Name && l.Name != "" }):
		n.WrongField("name", fmt.Sprintf("%q is already the name of a list", l.Name), "give each its own name")
	case len(*s) == mostLists:
		n.Wrong(fmt.Sprintf("is one list more than %d", mostLists), "remove it, or merge lists into a file")
	}
	if l.Name == "" && !n.Touched("name") {
		n.Wrong("has no name", "set name, such as spamhaus-drop: it is the owner of the blocks")
	}
	if (l.URL == "") == (l.File == "") && !n.Touched("url", "file") {
		n.Wrong("requires exactly one of url and file", "set one of them")
	}
	l.settle(n)
	return l
}

// settle fills in the defaults, and refuses what does not go together.
func (l *BlocklistSource) settle(n yaml.Node) {
	if l.Every == 0 && !n.Touched("every") {
		l.Every = everyFetch
		if l.File != "" {
			l.Every = everyLook
		}
	}
	if n.Touched("every", "url", "file", "stale") {
		return
	}
	if l.URL != "" && l.Every < leastFetch {
		n.WrongField("every", yaml.Duration(l.Every)+" is too short for a URL", "use at least "+yaml.Duration(leastFetch)+", and at least what the publisher asks for")
	} else if l.Stale < 2*l.Every {
		n.WrongField("stale", yaml.Duration(l.Stale)+" is over before a second fetch could fail", "use at least twice every, "+yaml.Duration(2*l.Every))
	}
	if u, err := url.Parse(l.URL); err == nil && l.Every < spamhaus && strings.HasSuffix("."+strings.ToLower(u.Hostname()), ".spamhaus.org") {
		n.Warn("Spamhaus asks for at least an hour between two fetches, and blocks who comes more often", "set every: 12h")
	}
	if l.File != "" && (l.Private || l.CAFile != "" || l.HeaderFile != "") && !n.Touched("private", "ca_file", "header_file") {
		n.Wrong("has private, ca_file or header_file, which apply to a url only", "remove them")
	}
}

func readName(n yaml.Node) string {
	text, ok := n.Word()
	switch {
	case !ok:
	case !edgeguard.ValidOwner(text):
		n.Wrong(fmt.Sprintf("invalid name %q", yaml.Clip(text)), fmt.Sprintf("use at most %d letters, digits, '.', '_' or '-'", edgeguard.MaxOwner))
		return ""
	case text == crowdSecList:
		n.Wrong("is the owner of CrowdSec's decisions", "use another name")
		return ""
	}
	return text
}

// readURL reads a URL. No message repeats it: it may have a secret.
func readURL(n yaml.Node) string {
	text, ok := n.Value()
	if !ok {
		return ""
	}
	if _, wrong, fix := feed.ParseURL(text); wrong != "" {
		n.Wrong(wrong, fix)
	}
	return text
}
