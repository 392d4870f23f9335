package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"edgeguard/internal/program"
)

// A first look costs little: at most 60 kB and five requests, all of the node
// itself, where the page is full and each row has sixty slots. What it then asks of
// the API is not part of it.
func TestSizes(t *testing.T) {
	n, log := follow(t, "edge-1", "rules: [{name: site, threshold: 40}]")
	now := time.Now().Truncate(width)
	for slot := range 55 {
		for addr := range 60 {
			if _, err := log.WriteString(line(fmt.Sprintf("203.0.113.%d", addr), now.Add(time.Duration(slot-55)*width), "/x")); err != nil {
				t.Fatal(err)
			}
		}
	}
	n.Until("all are blocked", func() bool { return n.status().V4 == 60 })
	b := newTab(t)
	b.open(n.base + "/blocked")
	if rows := eval[int](b, `document.querySelectorAll("table.blocks tbody tr").length`); rows != 50 {
		t.Errorf("%d rows", rows)
	}
	b.mu.Lock()
	requests, size, html := 0, 0.0, 0.0
	for _, r := range b.requests {
		if strings.Contains(r.Request.URL, "/api/") {
			continue
		}
		requests++
		size += b.bytes[r.RequestID]
		if strings.HasSuffix(r.Request.URL, "/blocked") {
			html = b.bytes[r.RequestID]
		}
	}
	b.mu.Unlock()
	t.Logf("a full first page: %d requests, %.0f bytes over the wire, %.0f of them HTML, which has %d", requests, size, html, len(n.get("/blocked")))
	if requests > 5 || requests < 3 || size > 60_000 || html > 15_000 || html == 0 {
		t.Error("at most 5 requests, 60,000 bytes and 15,000 of HTML are right")
	}
	for _, path := range []string{"/blocked", "/address/203.0.113.1", "/rules/site", "/blocked/near", "/health"} {
		if sum := b.scripts(n, path); sum > 15_000 || sum < 5_000 {
			t.Errorf("%s loads %d bytes of the console's own scripts, at most 15,000 are right", path, sum)
		}
	}
}

// scripts returns how many bytes of the console's own scripts a page loads, as they
// are written.
func (b *tab) scripts(n *node, path string) (sum int) {
	b.t.Helper()
	b.open(n.base + path)
	loaded := eval[[]string](b, `performance.getEntriesByType("resource").map(r => new URL(r.name).pathname).filter(path => path.endsWith(".js") && !path.includes("uPlot"))`)
	for _, script := range loaded {
		sum += len(n.get(script))
	}
	return sum
}

// How many are blocked is one number: on the page with and without a login, of the
// API, of the command, of the metrics and in the list of the enforcer.
func TestAgreement(t *testing.T) {
	n, other, _ := pair(t, rules+"enforce: {files: [{file: $DIR/list.txt, format: plain}]}\n")
	offend(t, n, other)
	guest, operator := newTab(t), newTab(t)
	operator.operator()
	const shown = `document.querySelector("h1 .total").textContent`
	metric := regexp.MustCompile(`(?m)^edgeguard_blocked_ips\{[^}]*\} (\d+)$`)
	var says map[string]int
	guest.wait("all say the same", func() bool {
		s := n.status()
		says = map[string]int{"API": s.V4 + s.V6}
		for name, b := range map[string]*tab{"page": guest, "operator's page": operator} {
			base := n.base
			if b == operator {
				base = n.shown
			}
			b.open(base + "/blocked")
			says[name], _ = strconv.Atoi(eval[string](b, shown))
			says[name+", navigation"], _ = strconv.Atoi(eval[string](b, `document.querySelector("nav.main a .n").textContent`))
			says[name+", rows"] = eval[int](b, `document.querySelectorAll("table.blocks tbody tr").length`)
		}
		out, err := exec.CommandContext(t.Context(), os.Getenv(program.Built), "blocks", "list", "--json", "--admin", "unix:"+n.Path("admin.sock")).Output()
		if err != nil {
			t.Fatal(err)
		}
		says["command"] = bytes.Count(out, []byte(`"prefix"`))
		for _, found := range metric.FindAllStringSubmatch(n.get("/metrics"), -1) {
			of, _ := strconv.Atoi(found[1])
			says["metrics"] += of
		}
		list, err := os.ReadFile(n.Path("list.txt"))
		if err != nil {
			t.Fatal(err)
		}
		for entry := range strings.Lines(string(list)) {
			if !strings.HasPrefix(entry, "#") && strings.TrimSpace(entry) != "" {
				says["list"]++
			}
		}
		for _, of := range says {
			if of != says["API"] {
				return false
			}
		}
		return len(says) == 10 && says["API"] > 5
	})
	t.Log(says)
}

// No other site can put the console into a frame, read it, or load it as a picture.
func TestOtherSites(t *testing.T) {
	n := start(t, "edge-1", rules)
	n.block(offender, "a note")
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `<!doctype html><title>other</title><link rel="icon" href="data:,"><iframe src="%s/blocked"></iframe>`, n.base)
	}))
	t.Cleanup(other.Close)
	// A page of another port is of the same site, and so has its cookies.
	for _, host := range []string{"localhost", "127.0.0.1"} {
		b := newTab(t)
		b.expects(n.base, "ERR_BLOCKED_BY_", "ERR_FAILED", "CORS") // what is tried is refused
		b.open(strings.Replace(other.URL, "127.0.0.1", host, 1))
		b.wait("the frame is refused", func() bool {
			b.mu.Lock()
			defer b.mu.Unlock()
			return slices.ContainsFunc(b.faults, func(fault string) bool {
				return strings.Contains(fault, "frame-ancestors") || strings.Contains(fault, "ERR_BLOCKED_BY_RESPONSE") || strings.Contains(fault, "403 "+n.base+"/blocked")
			})
		})
		for _, path := range []string{"/blocked", "/api/v1/blocks", "/api/v1/events"} {
			quoted, _ := json.Marshal(n.base + path)
			for script, allowed := range map[string]string{
				`fetch(URL, {credentials: "include"}).then(r => r.text(), e => "refused")`:                                                                                                       "",
				`fetch(URL, {mode: "no-cors", credentials: "include"}).then(r => r.text().then(text => r.type + text), e => "refused")`:                                                          "opaque",
				`new Promise(done => { const i = new Image(); i.onload = () => done("loaded"); i.onerror = () => done("refused"); i.src = URL; })`:                                               "",
				`new Promise(done => { const s = document.createElement("script"); s.onload = () => done("loaded"); s.onerror = () => done("refused"); s.src = URL; document.head.append(s); })`: "",
			} {
				var said string
				b.do(chromedp.Evaluate(strings.ReplaceAll(script, "URL", string(quoted)), &said, awaited))
				if said != "refused" && said != allowed {
					t.Errorf("%s from %s: %s: %q", path, host, script, said)
				}
			}
		}
	}
}
