package tuned

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"edgeguard/internal/realdata"
	"edgeguard/loadtest/traffic"
)

var weblogs = []string{"weblog-wordpress-2016", "weblog-joomla-almhuette-2019", "weblog-elastic-apache", "weblog-scanner-acunetix", "weblog-scanner-netsparker"}

// TestRealLogs compares the proposals with the rules as they are, by the labels.
func TestRealLogs(t *testing.T) {
	labels, err := ReadLabels(realdata.Path(t, "labels-web.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	pairs, err := Measure(context.Background(), realdata.Path(t), weblogs, labels)
	if err != nil {
		t.Fatal(err)
	}
	var table bytes.Buffer
	Print(&table, pairs)
	t.Log("\n" + table.String())
	for i := range pairs {
		t.Logf("%s %s: %s", pairs[i].Log, pairs[i].Rule, pairs[i].Proposal.Reason)
	}
	if better, worse := Count(pairs); len(pairs) < 13 || better < 6 || worse > 0 {
		t.Errorf("of %d pairs better on %d and worse on %d; want 6 at least, and 0", len(pairs), better, worse)
	}
}

// crowd is a log of clients that do no harm: readers, an office behind one address
// that logs in at nine, and a search engine.
func crowd(clients int) *bytes.Buffer {
	const (
		browser = "Mozilla/5.0 (X11; Linux x86_64; rv:139.0) Gecko/20100101 Firefox/139.0"
		engine  = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
	)
	r, out := rand.New(rand.NewPCG(5, 5)), &bytes.Buffer{}
	for second := range 3600 {
		line := func(addr, agent, method, path string, status int) {
			fmt.Fprintf(out, "%s - - [%s] \"%s %s HTTP/1.1\" %d 512 \"-\" \"%s\"\n", addr,
				time.Unix(1780358400+int64(second), 0).UTC().Format("02/Jan/2006:15:04:05 -0700"), method, path, status, agent)
		}
		read := func(addr string) {
			line(addr, browser, "GET", fmt.Sprintf("/page/%d", r.IntN(50)), 200)
			for range r.IntN(8) {
				line(addr, browser, "GET", fmt.Sprintf("/img/%d.png", r.IntN(99)), 200)
			}
		}
		n := r.IntN(clients)
		read(fmt.Sprintf("198.51.%d.%d", n/250, n%250))
		if second%3 == 0 {
			read("192.0.2.10") // the office
		}
		if second%20 == 0 {
			line("192.0.2.10", browser, "POST", "/wp-login.php", []int{302, 302, 302, 200}[r.IntN(4)])
		}
		path := []string{"/robots.txt", "/gone/%d", "/page/%d", "/page/%d"}[r.IntN(4)]
		if path != "/robots.txt" {
			path = fmt.Sprintf(path, r.IntN(300))
		}
		line("66.249.66.1", engine, "GET", path, map[bool]int{true: 404, false: 200}[path[1] == 'g'])
	}
	return out
}

// TestNobodyIsProposed: on traffic without an attacker no proposal refuses a client,
// whatever the rules do.
func TestNobodyIsProposed(t *testing.T) {
	logs := map[string]*bytes.Buffer{"800 clients, an office and a search engine": crowd(800), "ten clients": crowd(10), "a log as it is measured": {}}
	if err := (traffic.Log{Lines: 50_000, Addresses: 5000, Rate: 20, Seed: 1}).Write(logs["a log as it is measured"]); err != nil {
		t.Fatal(err)
	}
	for name, log := range logs {
		t.Run(name, func(t *testing.T) {
			pairs, err := Generated(context.Background(), name, log)
			if err != nil {
				t.Fatal(err)
			}
			if len(pairs) < 2 {
				t.Fatalf("%d rules counted something", len(pairs))
			}
			for i := range pairs {
				p := &pairs[i]
				t.Logf("%s: %d, proposed %d: %s", p.Rule, p.Now.Benign, p.Then.Benign, p.Proposal.Reason)
				if p.Then.Benign > p.Now.Benign || !p.Proposal.Keep && p.Then.Benign > 0 {
					t.Errorf("%s: refuses %d, proposed %d (threshold %d)", p.Rule, p.Now.Benign, p.Then.Benign, p.Proposal.Threshold)
				}
			}
		})
	}
}
