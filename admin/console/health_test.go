package console

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"edgeguard/admin"
)

// judged returns figures with alarms, each of a part, which somebody must act on.
func judged(alarms ...admin.Alarm) *admin.Stats {
	s := &admin.Stats{Ready: true, Time: time.Unix(1_800_000_000, 0), Enforcers: []admin.Enforcer{{Name: "nftables edgeguard"}}, Tables: admin.Tables{Limit: 10, Used: 5}}
	s.Judge(alarms)
	return s
}

func alarmOf(kind, part, text string, acts, awaits bool) admin.Alarm {
	return admin.NewAlarm(kind, part, text, time.Unix(1_799_999_000, 0), acts, awaits)
}

// The line has what is not well and the main parts, and each leads to its row. Only what somebody
// must act on is a banner, and of hundreds the first few are.
func TestHealthOnEveryPage(t *testing.T) {
	line := func(s *admin.Stats) (out []string) {
		for _, p := range healthLine(s) {
			out = append(out, p.State+" "+p.Path+" "+p.Text)
		}
		return out
	}
	if got := strings.Join(line(judged()), "|"); got != "unknown /health#lists nftables edgeguard, not written yet|well /health#mode Enforcing|well /health#memory Memory 50.0 %" {
		t.Errorf("%s", got)
	}
	s := judged(alarmOf("site_fails", admin.PartSite, "it fails", true, false), alarmOf("elsewhere", admin.PartBlocks, "much", false, false), alarmOf("fleet_held", admin.PartFleet, "2 wait", false, true))
	if got := line(s); got[0] != "bad /health#site The site: 1 alarm" || !strings.HasPrefix(got[1], "warn /health#blocks 0 blocks: 1 alarm") || !strings.HasPrefix(got[2], "warn /health#fleet ") {
		t.Errorf("%q", got)
	}
	var said []string
	all, needs := banners(s)
	for _, b := range all {
		said = append(said, fmt.Sprint(b.Bad, " ", b.Text, " ", b.Link))
	}
	if got := strings.Join(said, "|"); needs != 2 || got != "true it fails /health#site|false 2 wait /blocked/held" {
		t.Errorf("%s", got)
	}
	var many []admin.Alarm
	for i := range 256 {
		many = append(many, alarmOf("log", admin.PartLogs, fmt.Sprintf("%d is away", i), true, false))
	}
	if all, needs := banners(judged(many...)); needs != 256 || len(all) != mostBanners+1 || all[mostBanners].Text != "252 alarms more need somebody." || all[mostBanners].Link != "/health" {
		t.Errorf("%d: %+v", len(all), all[len(all)-1])
	}
}

// fixed shows figures.
type fixed struct {
	admin.Reader
	stats admin.Stats
}

func (f *fixed) Stats() admin.Stats { return f.stats }

// The page has a row a part with its first alarms; a name in one is text, and cannot end a tag.
func TestHealthPage(t *testing.T) {
	var alarms []admin.Alarm
	for i := range 256 {
		alarms = append(alarms, alarmOf("log", admin.PartLogs, fmt.Sprintf("/var/log/<script>%03d\"'.log: cannot be read: fix it", i), true, false))
	}
	s := judged(append(alarms, alarmOf("of_a_later_version", admin.PartHost, "unknown", false, false), alarmOf("blocklist_waits", admin.PartImports, "drop waits", false, true))...)
	s.Logs = []admin.Log{{Name: "/<b>.log", Last: s.Time.Add(-time.Minute), Age: 2, Behind: 1 << 20, Lines: 1234}, {Name: "/empty"}}
	frames := &frames{reader: &fixed{stats: *s}, outcomes: &outcomes{now: func() time.Time { return s.Time }}}
	name, shown := (&nodeHandlers{frames: frames}).health(nil, httptest.NewRequest("GET", "/health", nil))
	var page strings.Builder
	if err := newLayout(nil, newAssets(files, "assets/*", "thirdparty/*/*")).templates[name].ExecuteTemplate(&page, "layout.html", shown); err != nil {
		t.Fatal(err)
	}
	text := page.String()
	for _, want := range []string{
		`<tr id="logs">`, `/var/log/&lt;script&gt;019`, "236 more", `<tr id="host">`, `drop waits</bdi> <span class="muted nowrap">since 07:43:20</span> <a href="/neighbours">Look at it</a>`,
		"/&lt;b&gt;.log", "1 min 2 s ago", "1,048,576", "never",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not on the page", want)
		}
	}
	for _, bad := range []string{"<script>0", "/<b>", "log</bdi>: cannot be read: fix it</bdi> <span class=\"muted nowrap\">since 07:43:20</span> <a", "&lt;script&gt;020"} {
		if strings.Contains(text, bad) {
			t.Errorf("%s is on the page", bad)
		}
	}
	if len(text) > 60_000 {
		t.Errorf("the page has %d bytes", len(text))
	}
}
