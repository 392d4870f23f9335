package server_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/admin/metrics"
	"edgeguard/admin/server"
	"edgeguard/crawlers"
	"edgeguard/crowdsec"
	"edgeguard/haproxy"
	"edgeguard/notify"
)

var update = flag.Bool("update", false, "write the golden files again")

// full is a node of which every figure is set.
func full(t testing.TB) (*node, server.Config) {
	n := newNode()
	n.stats.Judge([]admin.Alarm{admin.NewAlarm("enforcer", admin.PartLists, "nft: exit status 1", start, true, false)})
	n.stats.Events = admin.Totals{Decided: 10, Passed: 6, Shadowed: 1, Denied: 3, Served: 1, Spared: 2, Late: 1, Early: 1}
	n.stats.Tables = admin.Tables{Keys: 5, Rings: 1, Expired: 2, Evicted: 1, Limit: 1 << 29, Used: 1 << 20, Parts: map[string]int64{"keys": 4096, "rings": 4096, "sketch": 100}}
	n.stats.Sources = []admin.Source{{Name: "auth 127.0.0.1:9180", Events: 7, Refused: 4, Late: 2}, {Name: "log /var/log/nginx/access.log", Events: 3}, {Name: "log /var/log/nginx/access.log", Events: 3}, {Name: "packets eth0", Events: 9, Malformed: 1, Dropped: 8}}
	n.stats.Decisions = []admin.Decisions{{Source: "auth 127.0.0.1:9180", Action: "deny", Rule: "site", Count: 3}, {Source: "auth 127.0.0.1:9180", Action: "deny", Rule: "site", Count: 1}, {Source: "auth 127.0.0.1:9180", Action: "pass", Count: 4}}
	n.stats.Logs = []admin.Log{{Name: "/var/log/nginx/access.log", Parsed: 3, Skipped: 1, TurnedAway: 2, Served: 1, Late: 1, Behind: 100, Dropped: 5, LostBytes: 7, Rotations: 2, Truncations: 1, Gaps: 1}, {Name: "/var/log/nginx/access.log", Parsed: 1}}
	n.stats.Enforcers = []admin.Enforcer{{Name: "nft", Intended: 3, Installed: 2, Withheld: 1, Updates: 4, Failures: 1, Failing: 1, Success: start, Packets: &admin.Packets{Dropped: 7, Passed: 2}}, {Name: "nft"}}
	n.stats.Bouncers = &admin.BouncerFigures{Refused: 3, Bouncers: []admin.BouncerFigure{{Name: "edge1", Pulls: 7, Served: 40, Limited: 2, LastPull: n.stats.Started}, {Name: "new"}}}
	n.stats.HAProxies = []haproxy.ListenerFigures{{Address: "unix:/peers.sock", HAProxies: []haproxy.LinkFigures{{Name: "ha1"}}, Updates: 9, Taught: 5, Strangers: 2, Refused: 1}}
	n.stats.Notified = []notify.Figures{{Name: "team", Kind: "webhook", Sent: 7, Failed: 3, Dropped: 12, Waiting: 4, Success: start}}
	n.stats.Elsewhere = []admin.Elsewhere{{Source: "owner", Name: "a", Kind: "block", Records: 2, Share: 0.25}, {Source: "owner", Name: "b", Kind: "block", Records: 3, Share: 0.5}, {Source: "nodes_signed", Kind: "allowance", Records: 4}}
	n.stats.Imports = admin.Imports{Blocks: 6, Most: 100, Feeds: []admin.ImportFeed{{Name: "drop", InForce: 6, Refused: admin.ImportRefusals{Protected: 1, Allowed: 2, TooWide: 3, Invalid: 4, Ended: 5, NoRoom: 6}}}}
	n.stats.CrowdSec = &crowdsec.Figures{
		Decisions: &crowdsec.Incoming{URL: "http://127.0.0.1:8080", InForce: 7, Answers: 9, Failures: 2, Skipped: crowdsec.Skipped{Types: 1, Scopes: 2, Ours: 3, Filtered: 4, Invalid: 5, NoRoom: 6}},
		Alerts:    &crowdsec.Outgoing{URL: "http://127.0.0.1:8080", Waiting: 1, Sent: 8, Dropped: 3, Refused: 2},
	}
	n.stats.Crawlers = &crawlers.Claims{Verified: 9, Impostors: 8, Unknown: 7, Asked: 6, Failed: 2, Unasked: 1}
	n.rules[0].SparesOutages, n.rules[0].Excused = true, 17
	n.stats.Site = &admin.Site{FailedSeconds: 40, Parts: []admin.SiteFigures{{Name: "example.org", Fails: true}, {Name: "log a"}}}
	n.rules[0].Wide = []admin.Wide{{Bits: 56, Crossings: []admin.Crossings{{Action: "block", Count: 4}}}}
	n.stats.Snapshot = &admin.Snapshot{Written: 3, Failures: 1, Bytes: 1000, Success: start}
	n.stats.Reload = &admin.Reload{OK: true, Success: start}
	n.stats.Fleet = &admin.Fleet{
		Namespace: "edge", Trouble: "unreachable", Fix: "Redis at 203.0.113.6:6379 cannot be reached", Since: start, LastError: "203.0.113.6: refused",
		Alive: 3, PushLag: 0.25, Rounds: 40, Calls: 80, Pushed: 1234, Delayed: 2, Quiet: true, Suspects: 50, Watched: 4, HeldBack: 5, Displaced: 13, Reconciled: 14, FullPushes: 6, Refused: 7,
		Published: 8, Received: 9, Rejected: 1, Kept: 4, Records: 77, Unpublished: 6, Staying: 13, Held: 2, Came: 5, Confirmed: 1, Proven: 2, Released: 4, NotRecorded: 3, Syncs: 10, Joins: 11, FanOut: 0.125, FanOutMost: 0.5, Ahead: -0.0005, Within: 0.0002,
		Errors: map[string]uint64{"push": 3, "unheard of": 1},
	}
	n.mustBlock(t, "203.0.113.1/32", "site", "n1")
	n.mustBlock(t, "203.0.113.2/32", "site", "n2")
	n.mustBlock(t, "2001:db8::/64", "manual", "n1")
	n.Unblock(numbered(0), "nothing there")
	n.list.Lift(key(0).Prefix, start, "", "n1")
	n.mustBlock(t, "203.0.113.3/32", "site", "n1")
	for b := range n.list.All(start) {
		if b.Prefix.String() == "203.0.113.3/32" {
			n.list.Lift(b.Prefix, start, "by hand", "n1")
		}
	}
	n.events.Alarm(edgeguard.Alarm{Time: start, Kind: "clock", Text: "stepped"})
	latency := metrics.NewLatency()
	latency.Of("auth 127.0.0.1:9180")(30 * time.Microsecond)
	return n, server.Config{Metrics: metrics.New(n, n.events, latency), TokenFile: tokenFile(t, secret)}
}

func (s *served) metrics(t testing.TB) []byte {
	t.Helper()
	s.ask(t, request{method: "GET", path: "/api/v1/status"}) // refused: gives that metric
	status, body := s.ask(t, request{method: "GET", path: "/metrics", unix: true})
	if status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	return body
}

// The names, labels and values that dashboards and alerts are built on.
func TestMetricsGolden(t *testing.T) {
	n, c := full(t)
	var lines []string
	for line := range strings.Lines(string(serve(t, n, c).metrics(t))) {
		if strings.HasPrefix(line, "edgeguard_") && !strings.HasPrefix(line, "edgeguard_build_info") {
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	got := strings.Join(lines, "")
	const golden = "testdata/metrics.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("the metrics differ from %s (write it again with -update):\n%s", golden, diff)
	}
}

// The list of docs/api.md is what a scrape says of each metric.
func TestMetricsOfTheDocs(t *testing.T) {
	n, c := full(t)
	const file, begin, end = "../../docs/api.md", "<!-- metrics -->\n", "<!-- end of metrics -->"
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, isThere := strings.Cut(string(page), begin)
	_, tail, isWhole := strings.Cut(rest, end)
	if !isThere || !isWhole {
		t.Fatalf("%s has no list between %q and %q", file, begin, end)
	}
	want := head + begin + metricRows(t, string(serve(t, n, c).metrics(t))) + end + tail
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if string(page) != want {
		t.Errorf("the list of metrics in %s is not that of a scrape: make generate writes it", file)
	}
}

// metricRows returns the list of our metrics in a scrape, where the help and the kind of
// each come before its series. It leaves out the kind, which the name says.
func metricRows(t *testing.T, scrape string) string {
	t.Helper()
	rows := "| metric | means |\n|---|---|\n"
	for _, metric := range strings.Split(scrape, "# HELP ")[1:] {
		lines := strings.SplitN(metric, "\n", 4)
		name, help, _ := strings.Cut(lines[0], " ")
		if !strings.HasPrefix(name, "edgeguard_") {
			continue
		}
		var labels []string
		for _, found := range labelName.FindAllStringSubmatch(lines[2], -1) {
			if found[1] != "le" {
				labels = append(labels, found[1])
			}
		}
		kind := strings.Fields(lines[1])[3]
		if (kind == "counter") != strings.HasSuffix(name, "_total") || (kind == "histogram") != (name == "edgeguard_decision_duration_seconds") {
			t.Errorf("%s is a %s: docs/api.md says another kind of such a name", name, kind)
		}
		if len(labels) > 0 {
			name += "{" + strings.Join(labels, ",") + "}"
		}
		rows += fmt.Sprintf("| `%s` | %s |\n", name, help)
	}
	return rows
}

var labelName = regexp.MustCompile(`([a-z]+)="`)

func TestMetricsAreClean(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed (Debian: apt-get install prometheus)")
	}
	n, c := full(t)
	check := exec.CommandContext(t.Context(), promtool, "check", "metrics")
	check.Stdin = bytes.NewReader(serve(t, n, c).metrics(t))
	if out, err := check.CombinedOutput(); err != nil || len(out) != 0 {
		t.Errorf("%v\n%s", err, out)
	}
}

var addressLike = regexp.MustCompile(`203\.0\.113|20\.0\.|2001:db8`)

// Thousands of blocks, rules, origins and alarms do not grow the metrics, and
// no address is among them (reliability test 30).
func TestMetricsAreBounded(t *testing.T) {
	n := newNode()
	n.rules = nil
	for i := range 2000 {
		rule := fmt.Sprintf("rule-%d", i)
		n.rules = append(n.rules, admin.Rule{Name: rule, Candidates: make([]admin.Candidate, 1)})
		n.stats.Decisions = append(n.stats.Decisions, admin.Decisions{Source: "auth 127.0.0.1:9180", Action: "deny", Rule: rule, Count: 1})
		n.mustBlock(t, numbered(uint32(i)).String(), rule, fmt.Sprintf("node-%d", i))
		n.events.Alarm(edgeguard.Alarm{Time: start, Kind: rule})
	}
	body := string(serve(t, n, server.Config{}).metrics(t))
	series, blocked := 0, 0
	for line := range strings.Lines(body) {
		if strings.HasPrefix(line, "edgeguard_") {
			series++
		}
		var count int
		if strings.HasPrefix(line, "edgeguard_blocked_ips{") {
			if _, err := fmt.Sscan(line[strings.LastIndex(line, " "):], &count); err != nil {
				t.Error(err)
			}
			blocked += count
		}
	}
	if series > 600 || blocked != 2000 {
		t.Errorf("%d series, %d blocks in them", series, blocked)
	}
	if found := addressLike.FindString(body); found != "" {
		t.Errorf("an address is in the metrics: %s", found)
	}
}
