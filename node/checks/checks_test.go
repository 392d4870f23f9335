package checks

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/config"
	"edgeguard/node/alarm"
	"edgeguard/node/pipeline"
	"edgeguard/rules"
	"edgeguard/shard"
)

// judged is a pipeline whose requests are judged by a check.
type judged struct {
	*pipeline.Pipeline
	list   *blocklist.List
	alarms *alarm.Tracker
}

func newJudged(t *testing.T) *judged {
	t.Helper()
	set, problems := rules.Compile([]rules.Spec{{Name: "site", Threshold: 60_000}})
	if problems != nil {
		t.Fatal(problems)
	}
	list := blocklist.New(blocklist.Config{})
	p := pipeline.New(pipeline.Config{
		Memory: shard.NewMemory(64 << 20), List: list, Seed: 1, Boot: testBegin, Offset: func() time.Duration { return 0 },
	}, &config.Config{Rules: set})
	t.Cleanup(p.Close)
	return &judged{p, list, alarm.New(func(edgeguard.Alarm) {}, nil)}
}

func (j *judged) request(addr string, at time.Time) {
	j.Current().Detector.Decide(at, &edgeguard.Event{
		Time: at, Addr: netip.MustParseAddr(addr), Kind: edgeguard.KindRequest, Verified: edgeguard.KindRequest,
	})
}

// conditions returns the texts of the active alarms.
func (j *judged) conditions() string {
	var texts []string
	for _, a := range j.alarms.Lasting() {
		texts = append(texts, a.Text)
	}
	return strings.Join(texts, "\n")
}

// One address with more than half of all requests is named.
func TestDominant(t *testing.T) {
	j := newJudged(t)
	minute := testBegin.Truncate(time.Minute)
	for i := range 6000 {
		at := minute.Add(time.Duration(i%60) * time.Second)
		j.request("203.0.113.9", at)
		if i%2 == 0 {
			j.request("203.0.113.10", at)
		}
	}
	dominant := &Dominant{Current: j.Current, Alarms: j.alarms}
	dominant.Check(minute.Add(time.Minute))
	if got := j.conditions(); !strings.Contains(got, "203.0.113.9 sends 6") {
		t.Errorf("conditions: %q", got)
	}
	dominant.Check(minute.Add(10 * time.Minute))
	if got := j.conditions(); got != "" {
		t.Errorf("it has ended, and is still active: %q", got)
	}
}

// Requests that all seem to come from this host are not counted, and that is an
// alarm: a proxy hides its clients.
func TestHidden(t *testing.T) {
	j := newJudged(t)
	j.list.SetProtected([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")})
	hidden := &Hidden{Current: j.Current, Alarms: j.alarms}
	hidden.Check(testBegin)
	for range leastEvents {
		j.request("127.0.0.1", testBegin)
	}
	hidden.Check(testBegin)
	if got := j.conditions(); !strings.Contains(got, "100 of the last 100 requests") {
		t.Errorf("conditions: %q", got)
	}
	for range leastEvents {
		j.request("203.0.113.9", testBegin)
	}
	hidden.Check(testBegin)
	if got := j.conditions(); got != "" {
		t.Errorf("it has ended, and is still active: %q", got)
	}
}

// A full list is an alarm until there was room for a minute.
func TestRoom(t *testing.T) {
	list := blocklist.New(blocklist.Config{Most: 2})
	alarms, logged := alarm.New(func(edgeguard.Alarm) {}, nil), 0
	room := &FullList{List: list, Alarms: alarms, Log: func(string, ...any) { logged++ }}
	add := func(addr string) {
		t.Helper()
		b := edgeguard.Block{Prefix: netip.MustParsePrefix(addr), Rule: "site", Since: testBegin, Until: testBegin.Add(time.Hour)}
		if _, _, err := list.Add(b, false, testBegin); err != nil {
			t.Fatal(err)
		}
	}
	for i, addr := range []string{"203.0.113.1/32", "203.0.113.2/32", "203.0.113.3/32"} {
		add(addr)
		room.Check(testBegin)
		if got := len(alarms.Lasting()); got != max(i-1, 0) {
			t.Errorf("with %d blocks: %d alarms", i+1, got)
		}
	}
	room.Check(testBegin.Add(alarm.Every - time.Second))
	if len(alarms.Lasting()) != 1 || logged != 0 {
		t.Error("it ended too early")
	}
	room.Check(testBegin.Add(alarm.Every))
	if len(alarms.Lasting()) != 0 || logged != 1 {
		t.Errorf("it has ended, and is still active; logged %d times", logged)
	}
}
