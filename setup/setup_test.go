package setup_test

import (
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard/config"
	"edgeguard/setup"
)

var (
	now     = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	account = &setup.Account{UID: 900, Groups: []string{"edgeguard", "adm"}}
)

const line = `203.0.113.9 - - [23/Nov/2026:11:57:00 +0000] "GET / HTTP/1.1" 200 5 "-" "curl/8"` + "\n"

// readable are the steps of a file as Debian's logrotate makes it.
var readable = []setup.Step{{"/", 0o755, 0, "root"}, {"/var/log/nginx", 0o755, 0, "adm"}, {"/var/log/nginx/access.log", 0o640, 33, "adm"}}

func seen(tail string, steps ...setup.Step) *setup.Look {
	if len(steps) == 0 {
		steps = readable
	}
	return &setup.Look{Tail: []byte(tail), Changed: now.Add(-3 * time.Minute), Steps: steps}
}

func TestJudge(t *testing.T) {
	many := strings.Repeat(line, 20)
	jsonLine := `{"remote_addr":"203.0.113.9","time_iso8601":"2026-11-23T11:57:00+00:00","request":"GET / HTTP/1.1","status":"200"}` + "\n"
	for name, c := range map[string]struct {
		format string
		look   *setup.Look
		follow bool
		use    string // the format
		says   string
	}{
		"read":                        {"combined", seen(many), true, "combined", "20 of its last 20 lines read as combined, last written 3 min ago"},
		"a format written out":        {`$remote_addr - $remote_user [$time_local] "$request" $status`, seen(strings.Repeat("203.0.113.9 - - [23/Nov/2026:11:57:00 +0000] \"GET / HTTP/1.1\" 200\n", 3)), true, `$remote_addr - $remote_user [$time_local] "$request" $status`, "3 of its last 3"},
		"more than its older lines":   {`$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" "$http_sec_fetch_site"`, seen(many + strings.Repeat(strings.TrimSuffix(line, "\n")+" \"none\"\n", 3)), true, `$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" "$http_sec_fetch_site"`, "23 of its last 23 lines read as"},
		"another than configured":     {"combined", seen(strings.Repeat(jsonLine, 5)), false, "combined", "only 0 of its last 5 lines have the format that is configured"},
		"no format known":             {"", seen(many), true, "combined", "20 of its last 20"},
		"a format that is refused":    {"$http_x_forwarded_for [$time_local] \"$request\"", seen(many), false, "$http_x_forwarded_for [$time_local] \"$request\"", "can be forged"},
		"prose":                       {"", seen("hello\nworld\nroot:$6$secret:19000\n"), false, "", "the format of its last 3 lines is not known"},
		"prose instead":               {"combined", seen("hello\nworld\nroot:$6$secret:19000\n"), false, "combined", "only 0 of its last 3 lines"},
		"empty":                       {"haproxy", seen(""), true, "haproxy", "is empty"},
		"empty and unknown":           {"", seen(""), true, "combined", "is empty"},
		"missing":                     {"haproxy", &setup.Look{Missing: true}, true, "haproxy", "does not exist yet"},
		"missing, of unknown format":  {"", &setup.Look{Missing: true}, false, "", "does not exist"},
		"a pipe":                      {"combined", &setup.Look{Problem: "/x is not a file, but a pipe"}, false, "combined", "pipe"},
		"behind another proxy":        {"combined", seen(strings.Repeat(strings.ReplaceAll(many, "203.0.113.9", "127.0.0.1"), 5)), false, "combined", "behind another proxy"},
		"a balancer's":                {"combined", seen(strings.Repeat(strings.ReplaceAll(line, "203.0.113.9", "10.0.0.7"), 2)), true, "combined", "its clients are private addresses. They are those of what stands before the server"},
		"tried from the host itself":  {"combined", seen(strings.Repeat(strings.ReplaceAll(line, "203.0.113.9", "127.0.0.1"), 2)), true, "combined", "2 of its last 2 lines read as combined, last written 3 min ago, all from this host itself: if"},
		"partly of the host itself":   {"combined", seen(many + strings.ReplaceAll(line, "203.0.113.9", "::1")), true, "combined", "21 of its last 21"},
		"half of another format":      {"combined", seen(many + strings.Repeat("x\n", 19)), true, "combined", "20 of its last 39"},
		"mostly of no known format":   {"combined", seen(many + strings.Repeat("x\n", 30)), false, "combined", "only 20 of its last 50"},
		"a format that trusts itself": {"", seen(strings.Repeat(`[2026-11-23T11:57:00.000Z] "GET / HTTP/1.1" 200 - 0 5 1 0 "203.0.113.9" "curl" "id" "h" "10.0.0.1:80"`+"\n", 5)), false, "", "is not known"},
	} {
		s := setup.Judge(setup.Log{Proxy: "nginx", File: "/var/log/nginx/access.log", Format: c.format}, c.look, account, now)
		if s.Follow != c.follow || s.Format != c.use || !strings.Contains(s.Says, c.says) {
			t.Errorf("%s: %+v", name, s)
		}
		if strings.Contains(s.Says+s.Fix, "secret") {
			t.Errorf("%s: what is in the file is shown: %s", name, s.Says)
		}
	}
	if s := setup.Judge(setup.Log{Proxy: "nginx", File: "/var/log/nginx/access.log.2.gz"}, seen("\x1f\x8b\x08\n\n\x00x\n"), account, now); s.Follow || !strings.Contains(s.Says, "name the log that is written now") {
		t.Errorf("a compressed log: %+v", s)
	}
	local := seen(strings.Repeat(strings.ReplaceAll(many, "203.0.113.9", "127.0.0.1"), 5))
	given, err := setup.Given("/var/log/nginx/access.log")
	if s := setup.Judge(given, local, account, now); err != nil || !s.Follow || !strings.Contains(s.Says, "all from this host itself") {
		t.Errorf("a log that the operator names is left out: %+v, %v", s, err)
	}
	if s := setup.Judge(setup.Log{Unusable: "goes to syslog"}, &setup.Look{}, account, now); s.Follow || s.Says != "goes to syslog" {
		t.Errorf("%+v", s)
	}
}

// What the node's account may not read is said, with the group or the fix.
func TestRights(t *testing.T) {
	file := func(mode fs.FileMode, uid uint32, group string) []setup.Step {
		return []setup.Step{{"/", 0o755, 0, "root"}, {"/logs", 0o755, 0, "root"}, {"/logs/a.log", mode, uid, group}}
	}
	for name, c := range map[string]struct {
		steps  []setup.Step
		groups []string
		fix    string
	}{
		"as Debian has it":    {readable, nil, ""},
		"for everybody":       {file(0o644, 0, "root"), nil, ""},
		"of another group":    {file(0o640, 0, "www-logs"), []string{"www-logs"}, ""},
		"of its owner only":   {file(0o600, 0, "adm"), nil, "chmod g+r /logs/a.log"},
		"of the node itself":  {file(0o600, 900, "x"), nil, ""},
		"of root":             {file(0o640, 0, "root"), nil, "chgrp adm /logs/a.log"},
		"of those of secrets": {file(0o640, 0, "shadow"), nil, "chgrp adm /logs/a.log"},
		"in a closed folder":  {[]setup.Step{{"/", 0o755, 0, "root"}, {"/logs", 0o700, 0, "caddy"}, {"/logs/a.log", 0o644, 0, "root"}}, nil, "chmod g+x /logs"},
		"two groups":          {[]setup.Step{{"/", 0o755, 0, "root"}, {"/logs", 0o750, 0, "caddy"}, {"/logs/a.log", 0o640, 0, "www-logs"}}, []string{"caddy", "www-logs"}, ""},
	} {
		s := setup.Judge(setup.Log{File: "/logs/a.log", Format: "combined"}, seen(line, c.steps...), account, now)
		if !s.Follow || !slices.Equal(s.Groups, c.groups) || (c.fix == "") != (s.Fix == "") || !strings.Contains(s.Fix, c.fix) {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// TestConfig: what is written is read back to the same paths and formats, whatever is in
// them, and nothing in it gets out of its place.
func TestConfig(t *testing.T) {
	hostile := "/logs/a: b\n  - {file: /etc/shadow}\n#\"'\u202e\x1b[31m.log"
	sources := []setup.Source{
		{Log: setup.Log{Proxy: "nginx", File: "/var/log/nginx/access.log", Format: "combined", At: "/etc/nginx/nginx.conf:1"}, Follow: true, Groups: []string{"www-logs"}},
		{Log: setup.Log{Proxy: "nginx", File: hostile, Format: `$remote_addr "$http_x" [$time_local] '#: "$request" $status`, At: "/etc/nginx/x\nmode: enforce\n:3"}, Follow: true, Groups: []string{"caddy", "www-logs"}},
		{Log: setup.Log{Proxy: "nginx", File: "/left/out.log", Format: "combined"}, Groups: []string{"other"}},
	}
	c, err := config.Parse("x", []byte(setup.Config(sources, setup.SiteNames{})))
	if err != nil {
		t.Fatal(err)
	}
	logs := c.Sensors.AccessLog
	if len(logs) != 2 || logs[0].File != "/var/log/nginx/access.log" || logs[1].File != hostile || logs[1].Format != sources[1].Format || !c.Monitor || len(c.Warnings) > 0 {
		t.Errorf("%+v, monitor %v, %v", logs, c.Monitor, c.Warnings)
	}
	const logins = "\n  - {name: logins, match: {kind: auth_failure}"
	if strings.Contains(setup.Config(sources, setup.SiteNames{}), logins) {
		t.Error("a rule for failed logins, of which no log says anything")
	}
	service := setup.Config([]setup.Source{{Log: setup.Log{Proxy: setup.GivenLog, File: "/var/log/auth.log", Format: "sshd", At: "--log"}, Follow: true}}, setup.SiteNames{})
	if c, err = config.Parse("x", []byte(service)); err != nil || !strings.Contains(service, logins) {
		t.Errorf("%v, %+v\n%s", err, c, service)
	}
	if got := setup.DropIn(sources); got != "# Written by edgeguard setup: the logs belong to these groups.\n[Service]\nSupplementaryGroups=caddy www-logs\n" {
		t.Error(got)
	}
	if got := setup.DropIn(sources[2:]); got != "" {
		t.Error(got)
	}
	if setup.Followed(sources) != 2 {
		t.Error(setup.Followed(sources))
	}
}

func TestGiven(t *testing.T) {
	for text, want := range map[string]setup.Log{
		"/a.log":                {File: "/a.log"},
		"json=/a=/b.log":        {File: "/a=/b.log", Format: "json"},
		"/srv/a=b/c.log":        {File: "/srv/a=b/c.log"},
		"auto=/a.log":           {File: "/a.log"},
		"csv:time=t,addr=s=/a.": {File: "/a.", Format: "csv:time=t,addr=s"},
	} {
		got, err := setup.Given(text)
		if err != nil || got.File != want.File || got.Format != want.Format {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "a.log", "nonsense=/a.log", "json=a.log"} {
		if got, err := setup.Given(text); err == nil {
			t.Errorf("%s: %+v", text, got)
		}
	}
}
