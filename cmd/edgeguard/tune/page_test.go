package tune

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/replay"
	"edgeguard/rules"
	"edgeguard/shard"
	"edgeguard/tuning/evidence"
)

// events is a source of one batch.
type events struct{ all []edgeguard.Event }

func (e *events) Next() ([]edgeguard.Event, error) {
	all := e.all
	e.all = nil
	if all == nil {
		return nil, fmt.Errorf("read twice")
	}
	return all, nil
}

const hostile = "</style><script>alert(1)</script><img src=x onerror=alert(1)>\"'`{{.}}\u202e\x1b[31m"

// made returns a page of a log in which an address writes hostile texts wherever it can.
func made(t *testing.T, spec rules.Spec) string {
	t.Helper()
	set, problems := rules.Compile([]rules.Spec{spec})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	var all []edgeguard.Event
	add := func(addr [4]byte, method, path, agent string, status uint16) {
		all = append(all, edgeguard.Event{Time: time.Unix(1780000000+int64(len(all)/10), 0), Addr: netip.AddrFrom4(addr), Kind: edgeguard.KindRequest | edgeguard.KindResponse,
			Verified: edgeguard.KindRequest | edgeguard.KindResponse, Known: edgeguard.FieldHost | edgeguard.FieldAgent | edgeguard.FieldMethod | edgeguard.FieldPath | edgeguard.FieldStatus,
			Host: hostile, Method: method, Path: path, Agent: agent, Status: status})
	}
	for i := range byte(30) {
		for n := range 10 {
			add([4]byte{192, 0, 2, i}, "GET", fmt.Sprintf("/a%d.png", n), "Mozilla/5.0 Firefox/1", 200)
		}
	}
	for range 60 {
		for i := range byte(3) {
			add([4]byte{203, 0, 113, i}, "POST", "/login"+hostile[:40], "Mozilla/5.0 Firefox/1"+hostile, 401)
		}
	}
	book := evidence.NewBook(0)
	book.Watch([]rules.Spec{spec})
	report, _ := replay.Run(context.Background(), &events{all}, replay.Config{Rules: set, Memory: shard.NewMemory(64 << 20), Tune: true, Seen: book.Add})
	found := Find(0, &report.Rules[0], evidence.NormalOf(report.Rules[0].Tally, book), book, 0)
	drafts := evidence.Drafts(book, nil)
	if len(drafts) == 0 || len(found.Leaders) == 0 {
		t.Fatal("nothing to show")
	}
	rule, ok := drafts[0].Choose([]evidence.Counted{{Tally: report.Rules[0].Tally}}, book)
	if !ok {
		t.Fatal("no rule is proposed")
	}
	page := Page{Files: []string{hostile}, Normal: []string{hostile}, First: report.First, Last: report.Last, Events: report.Events,
		Findings: []*Found{found}, Proposed: []evidence.Proposed{rule}, Presets: []Preset{{Name: "web", Hostile: 3}}}
	var out bytes.Buffer
	if err := page.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestHostileTexts: what strangers write is text on the page, and nothing else of it.
func TestHostileTexts(t *testing.T) {
	for _, spec := range []rules.Spec{
		{Name: "site", Threshold: 2000, Candidates: []uint32{50}},
		{Name: "by-host", Threshold: 2000, Action: edgeguard.ActionDeny, Key: rules.Group{With: []string{"host", "path"}}},
	} {
		text := made(t, spec)
		if !strings.Contains(text, "&lt;script&gt;alert(1)&lt;/script&gt;") {
			t.Errorf("%s: the path is not on the page", spec.Name)
		}
		if i := strings.IndexAny(text, "\u202e\x1b"); i >= 0 {
			t.Errorf("%s: byte %d is not plain", spec.Name, i)
		}
		checkMarkup(t, text)
	}
}

// known are the elements that the page is made of.
var known = regexp.MustCompile(`^(a|html|head|meta|title|style|body|main|h1|h2|h3|p|bdi|b|code|pre|section|svg|g|rect|line|polyline|text|circle|span|details|summary|div|table|thead|tbody|tr|th|td|ol|li|dl|dt|dd|time|footer)$`)

var (
	tag       = regexp.MustCompile(`<(/?)([A-Za-z0-9]*)((?:[^>"]|"[^"]*")*)>`)
	ownPlace  = regexp.MustCompile(`^#rule-\d+$`)
	attribute = regexp.MustCompile(`([A-Za-z-]+)(?:="([^"]*)")?`)
)

// checkMarkup fails for what is no part of the page: a < that text has is escaped, so
// that each begins a tag.
func checkMarkup(t *testing.T, text string) {
	t.Helper()
	text, ok := strings.CutPrefix(text, "<!DOCTYPE html>\n")
	if !ok {
		t.Errorf("it begins with %.40q", text)
	}
	tags := tag.FindAllStringSubmatch(text, -1)
	if len(tags) != strings.Count(text, "<") {
		t.Errorf("%d tags, %d times <", len(tags), strings.Count(text, "<"))
	}
	for _, found := range tags {
		if !known.MatchString(found[2]) {
			t.Errorf("%s", found[0])
		}
		for _, a := range attribute.FindAllStringSubmatch(found[3], -1) {
			if strings.HasPrefix(a[1], "on") || a[1] == "style" || a[1] == "src" || a[1] == "href" && !ownPlace.MatchString(a[2]) {
				t.Errorf("%s", found[0])
			}
		}
	}
}

// TestPolicy: the policy allows the style that the page has, and nothing else.
func TestPolicy(t *testing.T) {
	text := made(t, rules.Spec{Name: "site", Threshold: 2000})
	_, rest, _ := strings.Cut(text, "<style>")
	css, _, _ := strings.Cut(rest, "</style>")
	sum := sha256.Sum256([]byte(css))
	_, rest, _ = strings.Cut(text, `<meta http-equiv="Content-Security-Policy" content="`)
	escaped, _, _ := strings.Cut(rest, `"`)
	got := html.UnescapeString(escaped)
	want := "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'"
	if got != want {
		t.Errorf("policy %q, want %q", got, want)
	}
	if strings.Contains(css, "url(") || strings.Contains(css, "@import") {
		t.Error("the style loads something")
	}
}

// A rule that counted nothing has no plot.
func TestNothingCounted(t *testing.T) {
	text := made(t, rules.Spec{Name: "none", Threshold: 2000})
	if !strings.Contains(text, "<svg") {
		t.Error("no plot")
	}
	specs := []rules.Spec{{Name: "none", Threshold: 5, Match: rules.Match{Method: []string{"PUT"}}}}
	set, _ := rules.Compile(specs)
	book := evidence.NewBook(0)
	book.Watch(specs)
	report, err := replay.Run(context.Background(), replay.SortByTime(&events{nil}, 0), replay.Config{Rules: set, Memory: shard.NewMemory(8 << 20), Tune: true, Seen: book.Add})
	if err == nil {
		t.Fatal("an empty source ended well")
	}
	var out bytes.Buffer
	page := Page{Findings: []*Found{Find(0, &report.Rules[0], nil, book, 0)}}
	if err := page.Write(&out); err != nil || strings.Contains(out.String(), "<svg") || !strings.Contains(out.String(), "No event matched") {
		t.Errorf("%v %s", err, out.String())
	}
}
