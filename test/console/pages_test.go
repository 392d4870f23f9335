package console

import (
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	offender = "203.0.113.45"
	nearby   = "198.51.100.17"
	quiet    = "198.51.100.200"
)

// busy starts a node on which one address is blocked, one is near the limit, and a
// network is blocked by hand.
func busy(t *testing.T) *ownNode {
	n := start(t, "")
	n.ask(offender, "/x", limit+11)
	n.ask(nearby, "/x", limit*9/10)
	n.block("198.51.100.64/26", "abuse report")
	n.Until("the block of the rule is in force", func() bool { return n.explain(offender).Block != nil })
	return n
}

var pages = []string{
	"/", "/welcome", "/blocked", "/blocked/near", "/rules", "/rules/site", "/rules/login", "/allowed", "/blocked/held", "/changes", "/changes?kind=all", "/help", "/help?q=429", "/help/rules", "/help/start/nginx", "/changes?kind=block", "/health",
	"/address/" + offender, "/address/" + nearby, "/address/" + quiet, "/address/198.51.100.70", "/address/192.0.2.1", "/address/127.0.0.1", "/address/2001:db8::1",
	"/address/" + offender + "?rule=login", "/network/198.51.100.0/24", "/network/198.51.100.64/26", "/network/10.0.0.0/8",
}

// Every page is whole and keeps to its policy: its scripts are files of the node.
func TestEveryPage(t *testing.T) {
	n := busy(t)
	inline := regexp.MustCompile(`(?i)<script|<style|\sstyle=|\son[a-z]+=|javascript:|<iframe|<no value>|ZgotmplZ`)
	own := regexp.MustCompile(`<script (type="module"|defer) src="/console/assets/[0-9a-f]{12}/[A-Za-z.]+\.js"></script>|<script type="application/json" id="[a-z]+">`)
	for _, path := range append([]string{"/?from=2020-01-01T00:00:00Z&until=2020-01-01T01:00:00Z"}, pages...) {
		for _, operator := range []bool{false, true} {
			p := n.get(path, operator)
			if p.status != http.StatusOK || !strings.HasSuffix(p.body, "</html>\n") {
				t.Errorf("%s: %d\n%s", path, p.status, p.body)
				continue
			}
			if found := inline.FindString(own.ReplaceAllString(p.body, "")); found != "" {
				t.Errorf("%s has %q", path, found)
			}
			if !strings.Contains(p.header.Get("Content-Security-Policy"), "default-src 'none'") || p.header.Get("Cache-Control") != "no-store" {
				t.Errorf("%s: %v", path, p.header)
			}
		}
	}
}

// Help has the pages of docs, and finds what is in them.
func TestHelp(t *testing.T) {
	n := start(t, "")
	n.has("/help", `href="/help/tasks"`, `href="/help/start/nginx"`)
	n.has("/help?q=unblock+for+good", `<a href="/help/tasks#unblock-and-allow">Tasks: Unblock and allow</a>`)
	n.has("/help?q=%3Cb%3Eqqzzx", "No page has “<bdi>&lt;b&gt;qqzzx</bdi>”")
	n.has("/help/tasks", `<h2 id="unblock-and-allow">Unblock and allow</h2>`, `<a href="/help/fleet#what-the-nodes-share">`)
	for _, path := range []string{"/help/nosuch", "/help/nginx", "/help/README.md", "/help/"} {
		if p := n.get(path, false); p.status != http.StatusNotFound {
			t.Errorf("%s: %d", path, p.status)
		}
	}
}

// What the pages say is what the API says.
func TestPagesAgreeWithTheAPI(t *testing.T) {
	n := busy(t)
	status, err := n.admin.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	n.has("/blocked", fmt.Sprintf(`<span class="total">%d</span>`, status.V4+status.V6), ">"+offender+"</a>", ">198.51.100.64/26</a>")
	n.has("/address/"+offender, fmt.Sprintf("Blocked by rule site: %d requests in 5 minutes, and the limit is %d", limit+1, limit), "edge-1 made the block at")
	n.has("/address/198.51.100.70", "198.51.100.70 is inside 198.51.100.64/26, which was blocked by hand")
	n.has("/address/"+nearby, "Not blocked.", fmt.Sprintf("The nearest is rule site: %d requests, limit %d, 90.0 %%.", limit*9/10, limit))
	n.has("/address/"+quiet, "Not blocked, and nothing is counted.")
	n.has("/address/192.0.2.1", "Never blocked", "allowlist 192.0.2.0/24")
	n.has("/address/127.0.0.1", "Protected")
	n.has("/blocked/near", ">"+nearby+"</a>")
	n.has("/rules", fmt.Sprintf(`<span class="mono">%d</span>`, limit), "/rules/login")
	n.has("/rules/site", "2 addresses are counted now. The live limit of 190 requests (threshold 200) is exceeded by 1 of them.")
	n.has("/network/198.51.100.0/24", "No block contains all of it.", ">198.51.100.64/26</a>")
	n.has("/network/198.51.100.64/26", "Unblock its one block<", "1 in all.")
	n.has("/allowed", ">192.0.2.0/24</a>", "in the config")
	n.has("/changes?kind=block", "blocked for 2 h by hand on edge-1")
}

// has requires texts of a page, as an operator sees it.
func (n *ownNode) has(path string, texts ...string) {
	n.t.Helper()
	body := n.get(path, true).body
	for _, text := range texts {
		if !strings.Contains(body, text) {
			n.t.Errorf("%s lacks %q:\n%s", path, text, body)
		}
	}
}

// The numbers of the chart are those of explain.
func TestSlots(t *testing.T) {
	n := busy(t)
	cell := regexp.MustCompile(`<tr><td class="mono">\d\d:\d\d:\d\d</td><td class="num mono">(\d+)</td><td class="num mono">(\d+)</td></tr>`)
	n.Until("the page and explain were asked in the same slot, and agree", func() bool {
		before := n.explain(nearby)
		rows := cell.FindAllStringSubmatch(n.get("/address/"+nearby, false).body, -1)
		after := n.explain(nearby)
		slots := before.Rules[0].Slots
		if len(rows) != 60 || fmt.Sprint(slots) != fmt.Sprint(after.Rules[0].Slots) {
			return false
		}
		sum := 0
		for i, row := range rows {
			count, _ := strconv.Atoi(row[1])
			sum += count
			if count != int(slots[i]) || row[2] != strconv.Itoa(sum) {
				t.Fatalf("slot %d is %v on the page and %d for explain", i, row[1:], slots[i])
			}
		}
		return sum == limit*9/10
	})
}

// A search leads to the address, the network or the rule.
func TestFind(t *testing.T) {
	n := start(t, "")
	for text, to := range map[string]string{
		offender: "/address/" + offender, "+203.0.113.45+": "/address/" + offender, "2001:DB8::1": "/address/2001:db8::1", "::ffff:203.0.113.45": "/address/" + offender,
		"203.0.113.77/24": "/network/203.0.113.0/24", "203.0.113.45/32": "/address/" + offender, "site": "/rules/site",
		"203.0.113.45:51514": "/address/" + offender, "%22203.0.113.45%22,": "/address/" + offender, "[2001:db8::1]:443": "/address/2001:db8::1", "[2001:db8::1]": "/address/2001:db8::1", "(203.0.113.0/24).": "/network/203.0.113.0/24",
	} {
		if p := n.get("/find?q="+text, false); p.status != http.StatusSeeOther || p.header.Get("Location") != to {
			t.Errorf("%q: %d %s", text, p.status, p.header.Get("Location"))
		}
	}
	for _, path := range []string{"/find?q=", "/find?q=nothing", "/find?q=%3Cscript%3E", "/find?q=fe80::1%25eth0", "/find?q=[fe80::1%25eth0]:80", "/address/nobody", "/network/203.0.113.1", "/rules/none", "/fleet", "/address/%3Cimg%3E"} {
		if p := n.get(path, false); p.status != http.StatusNotFound || !strings.Contains(p.body, "<h1>Not found</h1>") || strings.Count(p.body, "<script") != 1 || strings.Contains(p.body, "<img") {
			t.Errorf("%s: %d\n%s", path, p.status, p.body)
		}
	}
	if p := n.get("/", false); p.status != http.StatusSeeOther || p.header.Get("Location") != "/welcome" {
		t.Errorf("/: %d", p.status)
	}
}

// What an operator or a client wrote makes no element, and a client without a login
// does not see it.
func TestHostileText(t *testing.T) {
	harmless, hostile := start(t, ""), start(t, "")
	text := `</bdi></script><script>alert(1)</script>"><img src=x onerror=alert(1)>{{.Node}}&lt;b&gt;'`
	harmless.block(offender, "a note")
	hostile.block(offender, text)
	for _, n := range []*ownNode{harmless, hostile} {
		n.ask(nearby, "/<script>alert(1)</script>", 3)
	}
	elements := regexp.MustCompile(`<[a-zA-Z!]`)
	for _, path := range []string{"/blocked", "/address/" + offender, "/changes?kind=block"} {
		a, b := harmless.get(path, true).body, hostile.get(path, true).body
		if x, y := len(elements.FindAllString(a, -1)), len(elements.FindAllString(b, -1)); x != y {
			t.Errorf("%s: %d elements, %d with the hostile text:\n%s", path, x, y, b)
		}
		if !strings.Contains(a, "a note") || !strings.Contains(b, "alert(1)") {
			t.Errorf("%s does not show an operator the note", path)
		}
		for _, n := range []*ownNode{harmless, hostile} {
			if guest := n.get(path, false).body; strings.Contains(guest, "a note") || strings.Contains(guest, "alert(1)") {
				t.Errorf("%s shows the note without a login", path)
			}
		}
	}
}

// A page's files are named by their bytes, so that a browser can keep them.
func TestAssets(t *testing.T) {
	n := start(t, "")
	found := regexp.MustCompile(`"(/console/assets/[^"]+)"`).FindAllStringSubmatch(n.get("/health", false).body, -1)
	if len(found) < 2 {
		t.Fatalf("only %v", found)
	}
	for _, path := range found {
		p := n.get(path[1], false)
		if p.status != http.StatusOK || !strings.Contains(p.header.Get("Cache-Control"), "immutable") || p.header.Get("Content-Type") == "" {
			t.Errorf("%s: %d %v", path[1], p.status, p.header)
		}
	}
	if p := n.get("/console/assets/000000000000/console.css", false); p.status != http.StatusNotFound {
		t.Errorf("another version: %d", p.status)
	}
}

// The pages of a long list show every block once, and a filter those that match.
func TestPaging(t *testing.T) {
	n := start(t, "")
	const v4, v6 = 110, 15
	for i := range v4 {
		n.block(fmt.Sprintf("203.0.113.%d", i), "")
	}
	for i := range v6 {
		n.block(fmt.Sprintf("2001:db8:%x::/64", i), "")
	}
	row, next := regexp.MustCompile(`<td class="who"><a class="mono addr" href="([^"]+)"`), regexp.MustCompile(`<a class="button" href="([^"]+)">Next page`)
	for filters, want := range map[string]int{
		"": v4 + v6, "?order=prefix": v4 + v6, "?family=ipv6": v6, "?made_by=manual&family=ipv4": v4, "?rule=site": 0,
		"?rule=&made_by=&family=&order=&prefix=": v4 + v6, "?prefix=203.0.113.64%2F26": v4 - 64, "?made_by=fleet": 0,
	} {
		seen, path := make(map[string]int), "/blocked"+filters
		for pages := 1; path != ""; pages++ {
			body := n.get(path, false).body
			for _, found := range row.FindAllStringSubmatch(body, -1) {
				seen[found[1]]++
			}
			path = ""
			if found := next.FindStringSubmatch(body); found != nil && pages < 10 {
				path = html.UnescapeString(found[1])
			}
		}
		for block, times := range seen {
			if times != 1 {
				t.Errorf("%s: %s is listed %d times", filters, block, times)
			}
		}
		if len(seen) != want {
			t.Errorf("%s lists %d blocks, want %d", filters, len(seen), want)
		}
	}
	for _, wrong := range []string{"?order=size", "?cursor=x", "?prefix=x", "?family=ipv5", "?colour=red"} {
		if p := n.get("/blocked"+wrong, false); p.status != http.StatusOK || !strings.Contains(p.body, `role="alert"`) {
			t.Errorf("%s: %d\n%s", wrong, p.status, p.body)
		}
	}
}

// Who is near the limits of several rules has one row, and who is blocked none: the page
// and the API that `edgeguard top` asks are of one list.
func TestNearHasARowAnAddress(t *testing.T) {
	n := start(t, "  - {name: assets, threshold: 200}\n  - {name: far, threshold: 400}\n")
	n.ask(offender, "/x", limit+11)
	n.ask("203.0.113.77", "/login", limit-1)
	n.ask(nearby, "/x", limit*7/10)
	n.Until("the offender is blocked", func() bool { return n.explain(offender).Block != nil })
	var rows []string
	n.Until("the look at the keys is a new one", func() bool {
		top, err := n.admin.Top(t.Context(), 100)
		if err != nil {
			t.Fatal(err)
		}
		rows = nil
		for _, k := range top.Keys {
			rows = append(rows, fmt.Sprintf("%s %s +%d", k.Shown, k.Rule, k.More))
		}
		return len(rows) > 1
	})
	if want := []string{"203.0.113.77 login +2", nearby + " assets +0"}; !slices.Equal(rows, want) {
		t.Errorf("got %q, want %q", rows, want)
	}
	p := n.get("/blocked/near", false)
	if strings.Count(p.body, "203.0.113.77</a>") != 1 || strings.Contains(p.body, ">"+offender+"</a>") || strings.Contains(p.body, ">"+nearby+"</a>") || !strings.Contains(p.body, ">+2</span>") {
		t.Errorf("the page:\n%s", p.body)
	}
}

// Where nobody is near a limit the page has who counts most.
func TestNobodyIsNear(t *testing.T) {
	n := start(t, "")
	n.has("/blocked/near", "Nobody is over 80 % of a limit.", "Nothing is counted now.")
	n.ask(nearby, "/x", limit/2)
	n.Until("the page has the nearest", func() bool {
		p := visible(n.get("/blocked/near", false).body)
		return strings.Contains(p, "These are the nearest.") && strings.Contains(p, nearby)
	})
}

// A browser that asks for what there is not gets a page, and a program what the API answers.
func TestMissingPage(t *testing.T) {
	n := start(t, "")
	for path, accept := range map[string]string{"/nothing/<b>": "text/html,*/*;q=0.8", "/nothing": "*/*", "/api/v1/nothing": "text/html"} {
		r, err := http.NewRequestWithContext(t.Context(), "GET", n.base+(&url.URL{Path: path}).EscapedPath(), nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", accept)
		answer, err := n.operator.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		want := `"detail":"there is no GET ` + path
		if strings.Contains(path, "<") {
			want = "There is no page /nothing/&lt;b&gt;."
		}
		if err != nil || answer.StatusCode != http.StatusNotFound || !strings.Contains(string(body), want) {
			t.Errorf("%s: %d without %q:\n%s", path, answer.StatusCode, want, body)
		}
	}
}
