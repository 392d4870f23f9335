package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"edgeguard/admin"
)

// crowd is how many requests each address sends.
func crowd() map[string]int {
	r := rand.New(rand.NewPCG(7, 1))
	counts := map[string]int{"203.0.113.1": 320, "203.0.113.2": 250, "203.0.113.3": 191, "203.0.113.4": 190, "203.0.113.5": 150, "203.0.113.6": 149, "203.0.113.7": 120}
	for i := range 40 {
		counts[fmt.Sprintf("198.51.100.%d", i)] = 1 + r.IntN(40)
	}
	return counts
}

// reckoned is what a threshold does by counting again: the second implementation.
type reckoned struct {
	limit, keys, requests, all, fresh int
	over                              []string // highest first
	below                             string
}

func reckon(counts map[string]int, threshold int, blocked func(string) bool) (r reckoned) {
	r.limit = (95*threshold + 99) / 100
	order := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		if counts[a] != counts[b] {
			return counts[b] - counts[a]
		}
		return netip.MustParseAddr(a).Compare(netip.MustParseAddr(b))
	})
	for _, addr := range order {
		n := counts[addr]
		r.all += n
		if n <= r.limit {
			if r.below == "" {
				r.below = addr
			}
			continue
		}
		r.keys, r.requests, r.over = r.keys+1, r.requests+n-r.limit, append(r.over, addr)
		if !blocked(addr) {
			r.fresh++
		}
	}
	return r
}

// The page of a rule, the API, and counting again agree on every threshold.
func TestTuneAgrees(t *testing.T) {
	n := start(t, "")
	counts := crowd()
	for addr, times := range counts {
		n.ask(addr, "/x", times)
	}
	blocked := func(addr string) bool { return counts[addr] > limit }
	n.Until("the blocks are in force", func() bool { return n.explain("203.0.113.3").Block != nil })
	for _, threshold := range []int{1, 2, 10, 40, 60, 67, 68, 126, 127, 156, 157, 158, 200, 201, 263, 400, 65534} {
		want := reckon(counts, threshold, blocked)
		var api admin.Outcome
		n.json(fmt.Sprintf("/api/v1/rules/site/outcome?threshold=%d", threshold), &api)
		if int(api.Limit) != want.limit || int(api.Keys) != want.keys || int(api.Requests) != want.requests || *api.NewKeys != want.fresh || !api.Exact {
			t.Fatalf("threshold %d: the API says %+v (%d new), counting %+v", threshold, api, *api.NewKeys, want)
		}
		body := n.get(fmt.Sprintf("/rules/site?threshold=%d", threshold), false).body
		seen := readTune(t, body)
		if seen.limit != want.limit || seen.keys != want.keys || seen.fresh != want.fresh || !slices.Equal(seen.over, want.over) || seen.below != want.below && len(want.over) > 0 {
			t.Errorf("threshold %d: the page says %+v, counting %+v", threshold, seen, want)
		}
		if share := percent(want.requests, want.all); !strings.Contains(body, `<b id="share">`+share+"</b>") {
			t.Errorf("threshold %d: the page lacks %s refused", threshold, share)
		}
		for _, addr := range want.over {
			tag := map[bool]string{true: "blocked", false: "would be new"}[blocked(addr)]
			if seen.tags[addr] != tag {
				t.Errorf("threshold %d: %s is %q, want %q", threshold, addr, seen.tags[addr], tag)
			}
		}
		n.curve(body, counts, threshold)
	}
}

// percent writes a share as the pages do.
func percent(part, whole int) string {
	switch share := 100 * float64(part) / float64(whole); {
	case part == 0:
		return "0 %"
	case share < 1:
		return fmt.Sprintf("%.2f %%", share)
	default:
		return fmt.Sprintf("%.1f %%", share)
	}
}

// tuneSeen is what a reader sees on the page of a rule.
type tuneSeen struct {
	limit, keys, fresh int
	over               []string
	tags               map[string]string
	below              string
}

var (
	tuneLimit = regexp.MustCompile(`limit <b class="mono" id="limit">([\d,]+)</b>`)
	tuneKeys  = regexp.MustCompile(`<b id="keys">([\d,]+)</b>`)
	tuneFresh = regexp.MustCompile(`id="fresh">([\d,]+) of them not blocked now`)
	tuneRow   = regexp.MustCompile(`<tr><td class="who"><bdi><a class="mono addr" href="/address/([^"]+)">.+?</a></bdi></td><td class="num mono">[\d,]+</td><td class="num"><span class="tag \w+">([^<]+)</span>`)
	tuneBelow = regexp.MustCompile(`Next below the line: <bdi><a class="mono addr" href="/address/([^"]+)">`)
)

func readTune(t *testing.T, body string) (seen tuneSeen) {
	t.Helper()
	one := func(of *regexp.Regexp) string {
		if found := of.FindStringSubmatch(body); found != nil {
			return strings.ReplaceAll(found[1], ",", "")
		}
		return ""
	}
	var err error
	for of, into := range map[*regexp.Regexp]*int{tuneLimit: &seen.limit, tuneKeys: &seen.keys, tuneFresh: &seen.fresh} {
		if *into, err = strconv.Atoi(one(of)); err != nil {
			t.Fatalf("the page lacks %v:\n%s", of, body)
		}
	}
	seen.below, seen.tags = one(tuneBelow), make(map[string]string)
	for _, row := range tuneRow.FindAllStringSubmatch(body, -1) {
		if seen.tags[row[1]] = row[2]; seen.keys > 0 { // else they are the highest below it
			seen.over = append(seen.over, row[1])
		}
	}
	return seen
}

var curveRow = regexp.MustCompile(`<tr><td class="mono">([\d,]+)</td><td class="num mono">([\d,]+)</td><td class="num mono">([\d,]+)</td></tr>`)

// curve compares the numbers under the drawing with the counts below 64, where each
// count has a row of its own.
func (n *ownNode) curve(body string, counts map[string]int, threshold int) {
	n.t.Helper()
	for _, row := range curveRow.FindAllStringSubmatch(body, -1) {
		low, _ := strconv.Atoi(row[1])
		if low >= 64 {
			continue
		}
		keys, more := 0, 0
		for _, count := range counts {
			if count == low {
				keys++
			}
			if count >= low {
				more++
			}
		}
		if row[2] != strconv.Itoa(keys) || row[3] != strconv.Itoa(more) {
			n.t.Errorf("threshold %d: of the count %d the page says %v, counting %d and %d", threshold, low, row[1:], keys, more)
		}
	}
}

// json asks the API.
func (n *ownNode) json(path string, into any) {
	n.t.Helper()
	p := n.get(path, true)
	if err := json.Unmarshal([]byte(p.body), into); err != nil || p.status != http.StatusOK {
		n.t.Fatalf("%s: %d %v\n%s", path, p.status, err, p.body)
	}
}

// What is no threshold is refused in words, and the page stays whole.
func TestTuneRefuses(t *testing.T) {
	n := start(t, "")
	n.ask(offender, "/x", 3)
	for text, problem := range map[string]bool{
		"0": true, "-1": true, "65535": true, "1099511627776": true, "abc": true, "1e3": true, "<script>": true, `"><img src=x>`: true, strings.Repeat("9", 4000): true,
		"1": false, "65534": false, "1,200": false, " 7 ": false, "": false,
	} {
		p := n.get("/rules/site?threshold="+url.QueryEscape(text), false)
		if p.status != http.StatusOK || strings.Contains(p.body, "is not a threshold") != problem || strings.Contains(p.body, "<img") || strings.Contains(p.body, "<script>") {
			t.Errorf("%.40q: %d\n%s", text, p.status, p.body)
		}
		if problem && !strings.Contains(p.body, `value="`+html.EscapeString(text)[:min(len(text), 1)]) {
			t.Errorf("%.40q is not in the field any more", text)
		}
		if strings.Contains(p.body, "NaN") || strings.Contains(p.body, "Inf%") {
			t.Errorf("%.40q is drawn nowhere", text)
		}
	}
}

// A rule that has seen nothing has a page, and one that a reload removed has none.
func TestTuneOfOtherRules(t *testing.T) {
	n := start(t, "  - {name: 'a/b?c#<i>\"%2F\u202ex', threshold: 5, match: {path: [/never]}}\n  - {name: gone, threshold: 5, match: {path: [/gone]}}\n")
	odd := "a/b?c#<i>\"%2F\u202ex"
	link := regexp.MustCompile(`<a class="who" href="([^"]+)">`)
	var found []string
	for _, one := range link.FindAllStringSubmatch(n.get("/rules", false).body, -1) {
		found = append(found, html.UnescapeString(one[1]))
	}
	if len(found) != 4 {
		t.Fatalf("the rules' links are %q", found)
	}
	for _, path := range found {
		for _, more := range []string{"", "?threshold=1", "?threshold=65534"} {
			p := n.get(path+more, false)
			if p.status != http.StatusOK || !strings.Contains(p.body, "Nothing is counted now.") || strings.Contains(p.body, "<i>") {
				t.Errorf("%s: %d\n%s", path+more, p.status, p.body)
			}
		}
	}
	if body := n.get(found[2]+"?threshold=9", false).body; !strings.Contains(body, html.EscapeString("  - name: "+strconv.Quote(odd))+"\n    threshold: 9 # limit 9 requests; it was 5<") {
		t.Errorf("the YAML of the odd rule:\n%s", body)
	}
	config, err := os.ReadFile(n.Path("config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	without := regexp.MustCompile(`(?m)^.*name: gone.*\n`).ReplaceAll(config, nil)
	if bytes.Equal(config, without) {
		t.Fatal("the config has no rule to remove")
	}
	if err := os.WriteFile(n.Path("config.yaml"), without, 0o600); err != nil {
		t.Fatal(err)
	}
	r, _ := http.NewRequestWithContext(t.Context(), "POST", n.base+"/api/v1/reload", nil)
	r.Header.Set("Content-Type", "application/json")
	answer, err := n.operator.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if p := n.get("/rules/gone?threshold=4", false); p.status != http.StatusNotFound || !strings.Contains(p.body, "There is no rule of this name.") {
		t.Errorf("of a removed rule: %d %d\n%s", answer.StatusCode, p.status, p.body)
	}
	if p := n.get("/api/v1/rules/gone/outcome?threshold=4", false); p.status != http.StatusNotFound {
		t.Errorf("the API of a removed rule: %d", p.status)
	}
}

// An address that was allowed after it had counted is marked: a block of it would
// do nothing.
func TestTuneMarksTheAllowed(t *testing.T) {
	n := start(t, "")
	n.ask(nearby, "/x", 120)
	if _, err := n.admin.Allow(t.Context(), admin.AllowRequest{Prefix: "198.51.100.0/24", For: "1h", Reason: "office"}); err != nil {
		t.Fatal(err)
	}
	if seen := readTune(t, n.get("/rules/site?threshold=100", false).body); seen.tags[nearby] != "allowed" {
		t.Errorf("%+v", seen)
	}
}
