package help

import (
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Each page is well-formed HTML, and its links lead to pages and headings that there are.
func TestHTML(t *testing.T) {
	link, id := regexp.MustCompile(`href="/help/([^"#]*)(#[^"]*)?"`), regexp.MustCompile(`id="([^"]*)"`)
	pages, places, links := map[string]string{}, map[string]bool{}, 0
	for _, p := range Pages() {
		text := string(p.HTML("/help/"))
		pages[p.Name] = text
		for _, found := range id.FindAllStringSubmatch(text, -1) {
			places[p.Name+"#"+found[1]] = true
		}
		decoder := xml.NewDecoder(strings.NewReader("<main>" + text + "</main>"))
		for {
			if _, err := decoder.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Errorf("%s: %v", p.Name, err)
				break
			}
		}
	}
	for name, text := range pages {
		for _, found := range link.FindAllStringSubmatch(text, -1) {
			links++
			if _, ok := pages[found[1]]; !ok || found[2] != "" && !places[found[1]+found[2]] {
				t.Errorf("%s: there is no %s", name, found[0])
			}
		}
	}
	if links < 200 {
		t.Errorf("only %d links were found", links)
	}
}

// The map leads to every page, in its order.
func TestMap(t *testing.T) {
	pages := Pages()
	if pages[0].Name != Map || pages[1].Name != "start/nginx" {
		t.Errorf("the first pages are %s and %s", pages[0].Name, pages[1].Name)
	}
	leads := pages[0].HTML("/help/")
	for _, p := range pages[1:] {
		if !strings.Contains(string(leads), `"/help/`+p.Name+`"`) {
			t.Errorf("docs/README.md does not lead to %s", p.Name)
		}
	}
}

// What a page says is text, however it is written.
func TestMarkdown(t *testing.T) {
	for source, want := range map[string]string{
		"# A <b> `c`\n\nx < y & `<i>`":                   "<h1 id=\"a-b-c\">A &lt;b&gt; <code>c</code></h1>\n<p>x &lt; y &amp; <code>&lt;i&gt;</code></p>\n",
		"[x](javascript:alert(1)) *y*":                   "<p>x <em>y</em></p>\n",
		"<javascript:alert(1)> <https://x/> <a@b.c>":     "<p>javascript:alert(1) <a href=\"https://x/\" rel=\"noreferrer\">https://x/</a> a@b.c</p>\n",
		"[a `b`](https://x/?a=\"><i>)":                   "<p><a href=\"https://x/?a=%22%3E%3Ci%3E\" rel=\"noreferrer\">a <code>b</code></a></p>\n",
		"- a\n  b\n\n  ```sh\n  c <d>\n  ```\n- **e**\n": "<ul>\n<li>\n<p>a\nb</p>\n<pre><code class=\"language-sh\">c &lt;d&gt;\n</code></pre>\n</li>\n<li>\n<p><strong>e</strong></p>\n</li>\n</ul>\n",
		"1. a\n   - b\n2. c":                             "<ol>\n<li>a\n<ul>\n<li>b</li>\n</ul>\n</li>\n<li>c</li>\n</ol>\n",
		"| a | `b\\|c` |\n|---|---|\n| 1 | 2 |":          "<table>\n<thead>\n<tr>\n<th>a</th>\n<th><code>b|c</code></th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td>1</td>\n<td>2</td>\n</tr>\n</tbody>\n</table>\n",
		"<!-- box: no -->\n```\n# no heading":            "<pre><code># no heading\n</code></pre>\n",
		"<script>\nx\n</script>":                         "<p>&lt;script&gt;\nx\n&lt;/script&gt;</p>\n",
		"![A picture](img/x.png)":                        "",
	} {
		if got := string(newPage("p", source).HTML("/")); got != want {
			t.Errorf("%q:\n got %q\nwant %q", source, got, want)
		}
	}
}

// FuzzMarkdown finds a text that is never read to its end, or that becomes other elements
// than those of this package.
func FuzzMarkdown(f *testing.F) {
	for _, p := range Pages() {
		f.Add(string(p.Sections[0].source))
	}
	f.Add("- a\n\n\n-\n1. \n|\n``` \n``")
	tags := regexp.MustCompile(`</?(?:h[1-6]( id="[\p{L}\p{N}_-]*")?|p|pre|code( class="language-[^"<>]*")?|blockquote|ul|ol( start="\d+")?|li|table|thead|tbody|tr|th|td|strong|em|[bh]r /|a( href="(https?://|/)[^"<>]*"( title="[^"<>]*")?( rel="noreferrer")?)?)>`)
	f.Fuzz(func(t *testing.T, text string) {
		if strings.TrimSpace(text) == "" {
			return
		}
		p := newPage("p", text)
		if left := tags.ReplaceAllString(string(p.HTML("/")), ""); strings.ContainsAny(left, "<>") {
			t.Errorf("%q: %q", text, left)
		}
		p.Text(60, 3)
	})
}

// Questions of operators lead to the section that answers them, among the first three.
func TestSearch(t *testing.T) {
	for asked, want := range map[string]string{
		"who is blocked and why?": "tasks#who-is-blocked",
		"unblock for good":        "tasks#unblock-and-allow",
		"count POST /login":       "tasks#in-the-config",
		"429 an hour ago":         "tasks#who-is-blocked",
		"undo an import":          "tasks#block-by-hand",
		"threshold for an hour":   "tasks#rules-and-thresholds",
		"node out of step":        "tasks#the-node-and-its-fleet",
		"exit codes":              "tasks#exit-codes",
		"behind a CDN":            "start/cdn",
		"set_real_ip_from":        "start/cdn",
		"front_door":              "start/cdn",
		"prometheus":              "start/grafana",
		"block a network":         "tasks#block-by-hand",
		"escalate":                "rules",
		"EdgeguardFleetCutOff":    "operations",
		"max_imported":            "configuration",
		"back up":                 "upgrade",
	} {
		found := Search(asked, 3)
		if len(found) == 0 {
			t.Errorf("%s: nothing was found", asked)
		} else if !slices.ContainsFunc(found, func(f Found) bool { return strings.HasPrefix(f.Topic(), want) }) {
			t.Errorf("%s: the first is %s (%s), want %s", asked, found[0].Topic(), found[0].Line, want)
		}
	}
	for _, asked := range []string{"", "   ", "qqzzx", strings.Repeat("\xff\"", 5000)} {
		if found := Search(asked, 3); len(found) > 0 {
			t.Errorf("%.20q: %s", asked, found[0].Topic())
		}
	}
}

func TestFind(t *testing.T) {
	for topic, want := range map[string]string{
		"rules": "rules", "Rules.md": "rules", "docs/fleet.md": "fleet", "nginx": "start/nginx", "start/cdn": "start/cdn",
		"rules#fleet": "rules#fleet", "nosuch": "", "": "", "readme": "README", "../rules": "",
	} {
		page, section := Find(topic)
		got := ""
		if page != nil {
			got = page.Name
		}
		if section != nil {
			got = section.Topic()
		}
		if got != want {
			t.Errorf("%q: %q, want %q", topic, got, want)
		}
	}
}

// A terminal gets lines of its width, but for code; of a long page the headings.
func TestText(t *testing.T) {
	p := newPage("p", "# Title\n\nA [link](rules.md#fleet) and **some** words, `code`.\n\n- one item that is long enough for two lines\n- two\n\n## Second\n\n```sh\na b\n\tc\x1b\n```\n\n| a | b |\n|---|---|\n| c | d |\n\n1. a \\* b\n\n- c &lt; `d|\x1be` &#27;[2J\n")
	want := "Title\n=====\n\nA link [rules#fleet] and some\nwords, `code`.\n\n- one item that is long enough\n  for two lines\n- two\n\nSecond\n------\n\n    a b\n        c?\n\nc\n    d\n\n1. a * b\n\n- c < `d|?e` ?[2J\n\n"
	if got := p.Text(30, 100); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	rules, _ := Find("rules")
	short := rules.Text(80, 100)
	if lines := strings.Count(short, "\n"); lines > 150 || !strings.Contains(short, "\n    rules#deny-by-answers\n") {
		t.Errorf("%d lines:\n%s", lines, short)
	}
}
