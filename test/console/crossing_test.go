package console

import (
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"edgeguard/admin"
)

// evidence asks the API for that of an address's block.
func (n *ownNode) evidence(addr string) (e admin.Evidence) {
	n.t.Helper()
	p := n.get("/api/v1/evidence/"+addr, false)
	if p.status != http.StatusOK {
		n.t.Fatalf("%d %s", p.status, p.body)
	}
	if err := json.Unmarshal([]byte(p.body), &e); err != nil {
		n.t.Fatal(err)
	}
	return e
}

// When an address was blocked, its page shows what it had counted, as the API has it;
// what comes later is not in it.
func TestWhenItWasBlocked(t *testing.T) {
	n := start(t, "")
	n.ask(offender, "/", limit+1)
	n.ask(offender, "/later", 50)
	e := n.evidence(offender)
	body := n.get("/address/"+offender+"?view=blocked", false).body
	cell := regexp.MustCompile(`<tr><td class="mono">(\d\d:\d\d:\d\d)</td><td class="num mono">([\d,]+)</td><td class="num mono">([\d,]+)</td></tr>`)
	rows := cell.FindAllStringSubmatch(body, -1)
	if len(rows) != 60 {
		t.Fatalf("%d rows:\n%s", len(rows), body)
	}
	for i, row := range rows {
		if row[2] != strconv.Itoa(int(e.Slots[i])) {
			t.Errorf("slot %d is %v on the page and %d for the API", i, row[1:], e.Slots[i])
		}
	}
	if rows[59][3] != strconv.Itoa(limit+1) {
		t.Errorf("the slots add up to %s", rows[59][3])
	}
	n.has("/address/"+offender+"?view=blocked", "when it was blocked", "edge-1 counted all of them", `aria-current="page">When it was blocked`)
	n.has("/address/"+offender, `href="/address/`+offender+`?view=blocked">When it was blocked`, `aria-current="page">Live`)
	if quiet := n.get("/address/198.51.100.200?view=blocked", false); quiet.status != http.StatusOK || strings.Contains(quiet.body, "When it was blocked") {
		t.Errorf("an address that nobody blocked: %d\n%s", quiet.status, quiet.body)
	}
}

// What a client asked for is on its page for an operator, harmless and without the
// query; a client without a login sees nothing of it.
func TestWhatItAskedFor(t *testing.T) {
	harmless, hostile := start(t, ""), start(t, "")
	path, agent := `/</bdi><script>alert(1)</script>"><img src=x onerror=alert(1)>{{.Node}}`, "<b>\u202egnp.exe\x9b31m"+strings.Repeat("é\xff", 2000)
	for n, asks := range map[*ownNode][2]string{harmless: {"/patients/4711?password=s3cret", "curl/8"}, hostile: {path + strings.Repeat("x", 4000) + "?password=s3cret", agent}} {
		for range limit + 20 {
			r, err := http.NewRequestWithContext(t.Context(), "GET", n.auth, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("X-Real-IP", offender)
			r.Header.Set("X-Original-URI", asks[0])
			r.Header.Set("User-Agent", asks[1])
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, answer.Body)
			_ = answer.Body.Close()
		}
	}
	elements := func(page string) int { // without the bars of charts: requests may be of one slot or of two
		return len(regexp.MustCompile(`<[a-zA-Z!]`).FindAllString(page, -1)) - strings.Count(page, `<rect class="bar"`)
	}
	for _, path := range []string{"/address/" + offender, "/address/" + offender + "?view=blocked"} {
		a, b := harmless.get(path, true).body, hostile.get(path, true).body
		if !strings.Contains(a, "What it asked for") || !strings.Contains(a, "/patients/4711") || !strings.Contains(b, "onerror") {
			t.Errorf("%s does not show an operator what it asked for:\n%s", path, a)
		}
		if x, y := elements(a), elements(b); x != y {
			t.Errorf("%s: %d elements, %d with the hostile request:\n%s", path, x, y, b)
		}
		if strings.ContainsAny(b, "\u202e\u009b\x1b") || strings.Contains(a+b, "s3cret") || strings.Contains(b, strings.Repeat("x", 200)) {
			t.Errorf("%s shows a query, too much, or a character that acts:\n%s", path, b)
		}
		for _, n := range []*ownNode{harmless, hostile} {
			if guest := n.get(path, false).body; strings.Contains(guest, "What it asked for") || strings.Contains(guest, "/patients/4711") || strings.Contains(guest, "onerror") {
				t.Errorf("%s shows it without a login", path)
			}
		}
	}
}
