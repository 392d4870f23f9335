package checks

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/blocklist"
	"edgeguard/config"
	"edgeguard/node/alarm"
	"edgeguard/node/pipeline"
	"edgeguard/shard"
)

// servedTest is a node that reads the logs a and b, and has blocked an address.
type servedTest struct {
	*Served
	t       *testing.T
	now     time.Time
	figures admin.Stats
	p       *pipeline.Pipeline
}

func newServed(t *testing.T, text string) *servedTest {
	t.Helper()
	c, err := config.Parse("f", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	list, start := blocklist.New(blocklist.Config{}), time.Unix(1_700_000_000, 0).UTC()
	s := &servedTest{t: t, now: start}
	s.p = pipeline.New(pipeline.Config{Memory: shard.NewMemory(16 << 20), List: list, Seed: 1, Boot: start, Offset: func() time.Duration { return 0 }, Crossed: func(edgeguard.Crossing) {}}, c)
	t.Cleanup(s.p.Close)
	if _, err := list.Force(edgeguard.Block{Prefix: netip.MustParsePrefix("203.0.113.5/32"), Rule: edgeguard.ManualRule, Since: start, Until: start.Add(time.Hour)}, start); err != nil {
		t.Fatal(err)
	}
	s.Served = &Served{Begun: start, Current: s.p.Current, Answers: &s.p.Answers, Report: func(to *admin.Stats) { *to = s.figures }, Blocks: list.Len,
		Alarms: alarm.New(func(edgeguard.Alarm) {}, func(string, string) {})}
	for _, l := range c.Sensors.AccessLog {
		s.figures.Logs = append(s.figures.Logs, admin.Log{Name: l.File})
	}
	s.check(0)
	return s
}

// check checks after a time, and returns what is said, in order.
func (s *servedTest) check(after time.Duration) string {
	s.now = s.now.Add(after)
	s.Check(s.now)
	var all []string
	for _, a := range s.Alarms.Lasting() {
		all = append(all, a.Kind+": "+a.Text)
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// reads has a log say n times that the blocked address got a status.
func (s *servedTest) reads(log string, n int, status uint16) {
	for range n {
		s.p.Batches("log "+log)(s.now, []edgeguard.Event{{Time: s.now, Addr: netip.MustParseAddr("203.0.113.5"), Kind: edgeguard.KindResponse, Verified: edgeguard.KindResponse, Known: edgeguard.FieldStatus, Status: status}})
	}
}

const twoLogs = "listen: {auth: []}\nsensors: {accesslog: [{file: /a}, {file: /b}]}\nrules: [{name: site, threshold: 60000}]\n"

// At least 20 requests and over half, of one log, in five minutes; of two proxies of which
// one goes by a list, the other is named.
func TestServed(t *testing.T) {
	s := newServed(t, twoLogs)
	s.now = s.now.Add(time.Minute)
	s.reads("/a", 19, 404)
	s.reads("/b", 1000, 429)
	if got := s.check(0); got != "" {
		t.Fatal(got)
	}
	s.reads("/a", 1, 404)
	const said = "blocked_served: log /a: 20 of the last 20 requests of blocked addresses were served, such as 203.0.113.5's with status 404: no list is written and no proxy has asked this node; `edgeguard snippets` prints what a proxy needs"
	if got := s.check(0); got != said {
		t.Fatalf("%s\nwant\n%s", got, said)
	}
	s.reads("/a", 5, 200) // and the example stays
	s.figures.Enforcers = []admin.Enforcer{{Name: "/geo.conf", Takes: 20}}
	s.figures.Sources = []admin.Source{{Name: "auth 127.0.0.1:9180", Asked: true, Events: 1}, {Name: "spoe unix:/s", Asked: true}, {Name: "log /a", Events: 9}}
	if got := s.check(0); !strings.Contains(got, "25 of the last 25 requests of blocked addresses were served, such as 203.0.113.5's with status 404: its server does not go by /geo.conf or auth 127.0.0.1:9180, or not everywhere") {
		t.Fatal(got)
	}
	s.reads("/a", 24, 403)
	if got := s.check(0); !strings.Contains(got, "25 of the last 49") {
		t.Fatal(got)
	}
	s.reads("/a", 1, 403)
	if got := s.check(0); got != "" {
		t.Fatal(got)
	}
	s.reads("/a", 30, 200)
	if got := s.check(0); got == "" {
		t.Fatal("it does not come back")
	}
	if got := s.check(6 * time.Minute); got != "" {
		t.Fatal(got)
	}
}

// What the slowest way has not had the time for says nothing.
func TestServedWaits(t *testing.T) {
	for name, test := range map[string]struct {
		figures admin.Stats
		takes   time.Duration
	}{
		"no way":           {admin.Stats{}, 20 * time.Second},
		"cloud":            {admin.Stats{Enforcers: []admin.Enforcer{{Takes: 1}, {Takes: 120}, {Takes: 20}}}, 2 * time.Minute},
		"bouncer":          {admin.Stats{Bouncers: &admin.BouncerFigures{Bouncers: []admin.BouncerFigure{{Every: 60, LastPull: time.Unix(1, 0)}}}}, 2 * time.Minute},
		"fast bouncer":     {admin.Stats{Bouncers: &admin.BouncerFigures{Bouncers: []admin.BouncerFigure{{Every: 1, LastPull: time.Unix(1, 0)}}}}, 20 * time.Second},
		"never asked":      {admin.Stats{Bouncers: &admin.BouncerFigures{Bouncers: []admin.BouncerFigure{{Every: 60}}}}, 20 * time.Second},
		"asks once a week": {admin.Stats{Bouncers: &admin.BouncerFigures{Bouncers: []admin.BouncerFigure{{Every: 604800, LastPull: time.Unix(1, 0)}}}}, 10 * time.Minute},
	} {
		s := newServed(t, twoLogs)
		logs := s.figures.Logs
		s.figures = test.figures
		s.figures.Logs = logs
		s.check(test.takes)
		s.reads("/a", 20, 200)
		if got := s.check(0); got != "" {
			t.Errorf("%s: %s", name, got)
		}
		s.now = s.now.Add(time.Second)
		s.reads("/a", 20, 200)
		if got := s.check(0); !strings.Contains(got, "20 of the last 20") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// In mode monitor nothing is to be refused: what was said before ends.
func TestServedNotInMonitor(t *testing.T) {
	s := newServed(t, twoLogs)
	s.now = s.now.Add(time.Minute)
	s.reads("/a", 20, 200)
	monitor := *s.p.Current().Config
	monitor.Monitor = true
	if got := s.check(0); got == "" {
		t.Fatal("nothing is said")
	}
	s.p.Replace(s.now, &monitor)
	if got := s.check(0); got != "" {
		t.Error(got)
	}
}

// Without a log, it is said only where no way at all is known, or can be outside of this
// node, and no proxy had the time to ask.
func TestNothingRefuses(t *testing.T) {
	const none = "listen: {auth: ['127.0.0.1:1'], admin: ['127.0.0.1:2']}\n"
	empty := newServed(t, none)
	empty.Blocks = func() int { return 0 }
	if got := empty.check(time.Hour); got != "" {
		t.Errorf("no blocks: %s", got)
	}
	for name, test := range map[string]struct {
		config  string
		figures admin.Stats
		said    bool
	}{
		"no way":     {none, admin.Stats{Sources: []admin.Source{{Name: "auth 127.0.0.1:1", Asked: true}}}, true},
		"asked":      {none, admin.Stats{Sources: []admin.Source{{Name: "auth 127.0.0.1:1", Asked: true, Events: 1}}}, false},
		"a list":     {none + "enforce: {files: [{file: /l, format: nginx}]}\n", admin.Stats{}, false},
		"bouncers":   {none + "crowdsec: {lapi: [{listen: '127.0.0.1:3'}]}\n", admin.Stats{}, false},
		"peers":      {none + "haproxy: {peers: [{listen: 'unix:/p', enforce: true}]}\n", admin.Stats{}, false},
		"a fleet":    {none + "fleet: {redis: 'redis://127.0.0.1:1'}\n", admin.Stats{}, false},
		"a reader":   {"listen: {auth: [], admin: [{address: '127.0.0.1:2', reader_token_file: /t}]}\n", admin.Stats{}, false},
		"in monitor": {"mode: monitor\n" + none, admin.Stats{}, false},
		"a log":      {none + "sensors: {accesslog: {file: /a, emit: [response]}}\n", admin.Stats{}, false},
		// These say nothing of what became of a request.
		"logins":        {none + "sensors: {accesslog: {file: /a, format: sshd}}\n", admin.Stats{Logs: []admin.Log{{Name: "/a"}}}, true},
		"from afar":     {none + "sensors: {accesslog: {listen: 'udp:192.0.2.1:514', from: [192.0.2.0/24]}}\n", admin.Stats{}, true},
		"udp from here": {none + "sensors: {accesslog: {listen: 'udp:127.0.0.1:514'}}\n", admin.Stats{}, false},
		"two logs":      {none + "sensors: {accesslog: [{file: /a, format: sshd}, {file: /b}]}\n", admin.Stats{}, false},
		// The packets of these addresses are counted, and pass.
		"dry run": {none + "enforce: {nftables: {dry_run: true}}\n", admin.Stats{Enforcers: []admin.Enforcer{{Name: "nftables edgeguard"}}}, true},
	} {
		s := newServed(t, test.config)
		s.figures = test.figures
		if got := s.check(unaskedFor - time.Second); got != "" {
			t.Errorf("%s, too soon: %s", name, got)
		}
		got := s.check(time.Second)
		if want := "nothing_refuses: 1 block is in force, and there is no way that this node knows which refuses what they send: `edgeguard snippets` prints what a proxy needs"; test.said && got != want || !test.said && got != "" {
			t.Errorf("%s: %q", name, got)
		}
	}
}
