package console

import (
	"html"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard/admin"
)

var anyLink = regexp.MustCompile(`(?:href|action|formaction)="(/[^"]*)"`)

// clicks returns what is linked from the front page by how many clicks lead to it, up to two, without
// what a path asks for: of the pages of addresses, rules and networks one each is opened.
func (n *ownNode) clicks() map[string]int {
	n.t.Helper()
	found, opened, next := map[string]int{}, map[string]bool{}, []string{"/"}
	for click := 1; click <= 2; click++ {
		pages := next
		next = nil
		for _, page := range pages {
			p := n.get(page, true)
			if p.status == http.StatusSeeOther || p.status == http.StatusMovedPermanently {
				p = n.get(p.header.Get("Location"), true)
			}
			for _, link := range anyLink.FindAllStringSubmatch(p.body, -1) {
				to := html.UnescapeString(link[1])
				path, _, _ := strings.Cut(to, "?")
				if _, known := found[path]; !known {
					found[path] = click
				}
				kind := path[:strings.LastIndex(path, "/")+1]
				if !slices.Contains([]string{"/address/", "/network/", "/rules/", "/attacks/"}, kind) {
					kind = path
				}
				if !opened[kind] && !strings.HasPrefix(path, "/api/") && !strings.HasPrefix(path, "/console/") {
					opened[kind] = true
					next = append(next, to)
				}
			}
		}
	}
	return found
}

// Whatever an operator could do before is a page or a form that at most two clicks from the front page
// lead to; addresses that people have kept lead to what they did.
func TestPlaces(t *testing.T) {
	waits := filepath.Join(t.TempDir(), "waits.txt")
	if err := os.WriteFile(waits, []byte("45.1.2.0/24\n45.1.9.9\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a, b := pairOf(t, "blocklists: [{name: waits, file: "+waits+", most: 1}]\n")
	a.ask(offender, "/x", limit+11)
	a.ask(nearby, "/x", limit*9/10)
	if _, err := a.admin.Allow(t.Context(), admin.AllowRequest{Prefix: "198.51.100.128/25", For: "24h", Reason: "office"}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.admin.Block(t.Context(), admin.BlockRequest{Prefix: "11.16.0.0/12", For: "2h", Reason: "abuse", Force: true}); err != nil {
		t.Fatal(err)
	}
	a.Until("a record and a list wait", func() bool {
		s, err := a.admin.Status(t.Context())
		return err == nil && s.Fleet.Held == 1 && len(s.Imports.Feeds) == 1 && s.Imports.Feeds[0].Awaits != nil && a.explain(offender).Block != nil
	})
	a.Until("the front page says so", func() bool { return strings.Contains(a.get("/", true).body, "/blocked/held") })
	clicks := a.clicks()
	for what, path := range map[string]string{
		"who is blocked": "/blocked", "who is near a limit": "/blocked/near", "what awaits confirmation": "/blocked/held", "confirm a record": "/confirm", "withdraw a record": "/withdraw",
		"block by hand": "/block", "allow": "/allow", "take back an allowance": "/disallow", "unblock": "/unblock", "change the end": "/extend",
		"the rules": "/rules", "one rule": "/rules/site", "nodes of the fleet": "/fleet", "lists of others": "/neighbours", "this node": "/health", "all that happened": "/changes",
		"the first steps": "/welcome", "keys, zone and what to read": "/help", "search": "/find", "log in": "/login", "an address": "/address/" + offender,
	} {
		if n, ok := clicks[path]; !ok || n > 2 {
			t.Errorf("%s (%s) is not within two clicks of the front page", what, path)
		}
	}
	for what, on := range map[string][2]string{
		"confirm a list":        {"/neighbours", `action="/neighbours"`},
		"try another threshold": {"/rules/site", `action="/rules/site"`}, "candidates": {"/rules/site?threshold=50", `action="/rules/site/candidates"`}, "apply": {"/rules/site?threshold=50", `/rules/site/threshold?threshold=50`},
		"zone and keys": {"/help", `name="local"`},
	} {
		if p := a.get(on[0], true); !strings.Contains(p.body, on[1]) {
			t.Errorf("%s is not on %s", what, on[0])
		}
	}
	for old, to := range map[string]string{"/near": "/blocked/near", "/held": "/blocked/held", "/activity": "/changes?kind=all", "/about": "/health#node"} {
		if p := a.get(old, false); p.status != http.StatusMovedPermanently || p.header.Get("Location") != to || a.get(to, false).status != http.StatusOK {
			t.Errorf("%s leads to %q, %d", old, p.header.Get("Location"), p.status)
		}
	}
}

// A search finds what is written in a note, an address by its beginning or its end, a rule by a part of its
// name, and who asked for a path. Who has no login finds no note and no path.
func TestSearch(t *testing.T) {
	n := start(t, "  - {name: checkout, threshold: 400}\n")
	n.block("198.51.100.64/26", "abuse report of Anna")
	n.ask(offender, "/shop/basket", limit+11)
	n.Until("it is blocked", func() bool { return n.explain(offender).Block != nil })
	n.ask(offender, "/shop/basket", 3)
	for text, want := range map[string]string{"report of anna": ">198.51.100.64/26</a>", "113.45": ">" + offender + "</a>", "shop/bas": ">" + offender + "</a>", "check": `href="/rules/checkout"`} {
		p := n.get("/find?q="+url.QueryEscape(text), true)
		if p.status != http.StatusOK || !strings.Contains(p.body, want) {
			t.Errorf("%q: %d, without %s:\n%s", text, p.status, want, visible(p.body))
		}
	}
	for _, text := range []string{"report of anna", "shop/bas"} {
		if p := n.get("/find?q="+url.QueryEscape(text), false); p.status != http.StatusNotFound {
			t.Errorf("%q is found without a login: %d\n%s", text, p.status, visible(p.body))
		}
	}
	for text, to := range map[string]string{"203.0.113": "/network/203.0.113.0/24", "203.0.113.": "/network/203.0.113.0/24", "203.0.*": "/network/203.0.0.0/16", "2001:db8:": "/network/2001:db8::/32"} {
		if p := n.get("/find?q="+url.QueryEscape(text), false); p.header.Get("Location") != to {
			t.Errorf("%q: %d %s", text, p.status, p.header.Get("Location"))
		}
	}
}

// Changes name people, not ports, in a time that is asked for, and lead to the way back.
func TestChanges(t *testing.T) {
	n := start(t, "")
	n.block(offender, "a ticket")
	p := n.get("/changes", true)
	if text := visible(p.body); !strings.Contains(text, "blocked "+offender) || !strings.Contains(text, "reason: a ticket") || regexp.MustCompile(`127\.0\.0\.1:\d|pid \d|uid \d|\dT\d\d:`).MatchString(text) {
		t.Errorf("%s", text)
	}
	if !strings.Contains(p.body, `href="/unblock?`) {
		t.Errorf("no way back:\n%s", p.body)
	}
	hourAgo := time.Now().UTC().Add(-time.Hour).Format(time.RFC3339)
	for asked, there := range map[string]bool{"from=" + hourAgo: true, "from=" + hourAgo[:16]: true, "until=" + hourAgo: false, "from=2020-01-01T00:00:00Z&until=2020-01-02T00:00:00Z": false} {
		if got := strings.Contains(n.get("/changes?"+asked, true).body, "blocked "); got != there {
			t.Errorf("%s: %v", asked, got)
		}
	}
	for _, wrong := range []string{"from=yesterday", "from=2020-01-02T00:00:00Z&until=2020-01-01T00:00:00Z", "until=%3Cb%3E"} {
		if p := n.get("/changes?"+wrong, true); p.status != http.StatusOK || !strings.Contains(p.body, `role="alert"`) {
			t.Errorf("%s: %d\n%s", wrong, p.status, p.body)
		}
	}
	if p := n.get("/changes", false); strings.Contains(p.body, "ticket") || strings.Contains(p.body, ">Undo<") || !strings.Contains(p.body, "has a login") {
		t.Errorf("without a login:\n%s", visible(p.body))
	}
	body := n.get("/changes?kind=all", true).body
	if at := slices.IndexFunc(anyLink.FindAllStringSubmatch(body, -1), func(m []string) bool { return m[1] == "/address/"+offender }); at < 0 {
		t.Errorf("the block is not among all:\n%s", visible(body))
	}
}
