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
)

// uncountedTest is the requests of a config with one rule and an allowlist.
type uncountedTest struct {
	*UncountedRequests
	limit int // that the requests of an address are compared with
}

func newUncounted(t *testing.T) *uncountedTest {
	t.Helper()
	c, err := config.Parse("test.yaml", []byte(`
node: n1
listen: {auth: ["127.0.0.1:9180"]}
allowlist: [198.51.100.0/24]
rules:
  - {name: login, threshold: 20}
`))
	if err != nil {
		t.Fatal(err)
	}
	return &uncountedTest{&UncountedRequests{
		Current: func() *pipeline.Generation { return &pipeline.Generation{Config: c} },
		List:    blocklist.New(blocklist.Config{Allow: c.Allowlist}),
		Alarms:  alarm.New(func(edgeguard.Alarm) {}, nil),
		Sources: func() []admin.Source { return nil },
	}, int(boundOf(c.Rules).limit)}
}

// lasting returns the active alarms of a kind.
func (u *uncountedTest) lasting(kind string) (texts []string) {
	for _, a := range u.Alarms.Lasting() {
		if a.Kind == kind {
			texts = append(texts, a.Text)
		}
	}
	return texts
}

// Uncounted requests are figures by source and reason; who makes more of them
// than the least limit allows is a condition until the window is over.
func TestUncounted(t *testing.T) {
	n := newUncounted(t)
	now := testBegin
	tell := n.Uncounter("log a")
	one := func(addr string, reason edgeguard.Reason) []edgeguard.Uncounted {
		u := edgeguard.Uncounted{Reason: reason}
		if addr != "" {
			u.Addr = netip.MustParseAddr(addr)
		}
		return []edgeguard.Uncounted{u}
	}
	for range n.limit {
		tell(now, one("203.0.113.9", edgeguard.LineTooLong))
		tell(now, one("198.51.100.9", edgeguard.LineTooLong)) // allowed: it is never counted
		tell(now, one("198.51.100.9", edgeguard.LineTooLong))
		tell(now, one("", edgeguard.LineMisfit))
	}
	n.Check(now)
	if got := n.lasting(alarm.UncountedAddress); got != nil {
		t.Errorf("at the limit: %q", got)
	}
	tell(now, one("203.0.113.9", edgeguard.LineTooLong))
	n.Check(now)
	if got := n.lasting(alarm.UncountedAddress); len(got) != 1 || !strings.Contains(got[0], "203.0.113.9 20 in") {
		t.Errorf("over the limit: %q", got)
	}
	want := []admin.Uncounted{
		{Source: "log a", Reason: "line_misfit", Count: uint64(n.limit)}, {Source: "log a", Reason: "line_too_long", Count: uint64(3*n.limit + 1)},
	}
	if got := n.Figures(); !slices.Equal(got, want) {
		t.Errorf("figures %v, want %v", got, want)
	}
	n.Check(now.Add(10 * time.Minute))
	if got := n.lasting(alarm.UncountedAddress); got != nil {
		t.Errorf("after the window: %q", got)
	}
}

// A crowd of addresses in which one could hide is reported without a name.
func TestUncountedCrowd(t *testing.T) {
	n := newUncounted(t)
	now := testBegin
	tell := n.Uncounter("log a")
	var crowd []edgeguard.Uncounted
	for i := range uint32(maxUnseen * n.limit) {
		crowd = append(crowd, edgeguard.Uncounted{Addr: rotated(i)})
	}
	tell(now, crowd)
	n.Check(now)
	if got := n.lasting(alarm.UncountedAddress); len(got) != 1 || strings.Contains(got[0], "10.") {
		t.Errorf("%q", got)
	}
}

// The share is of a source's own requests, and its condition ends with the
// trouble, or with the source.
func TestUncountedShare(t *testing.T) {
	n := newUncounted(t)
	now := testBegin
	tell := n.Uncounter("log a")
	events := uint64(0)
	judge := func(more uint64, uncounted int, sources ...admin.Source) []string {
		tell(now, make([]edgeguard.Uncounted, uncounted))
		events += more
		n.judgeShares(now, append(sources, admin.Source{Name: "log b", Events: 7}))
		return n.lasting(alarm.Uncounted)
	}
	for _, test := range []struct {
		what      string
		events    uint64
		uncounted int
		want      int
	}{
		{"nothing yet", 1000, 0, 0},
		{"a few", 0, leastUncounted - 1, 0},
		{"all", 0, leastUncounted, 1},
		{"one in a hundred", 990, leastUncounted, 0},
		{"more", 989, leastUncounted, 1},
		{"over", 989, 0, 0},
		{"again", 0, leastUncounted, 1},
	} {
		if got := judge(test.events, test.uncounted, admin.Source{Name: "log a", Events: events + test.events}); len(got) != test.want {
			t.Errorf("%s: %q", test.what, got)
		}
	}
	if got := judge(0, 0); got != nil {
		t.Errorf("it does not end with its source: %q", got)
	}
}

// A request that some rules counted is one of the source's events: the share has it once.
func TestUncountedInPart(t *testing.T) {
	n := newUncounted(t)
	n.Missed("haproxy a", edgeguard.GapInPart, 30)
	n.Missed("haproxy a", edgeguard.GapTooLong, 20)
	n.judgeShares(testBegin, []admin.Source{{Name: "haproxy a", Events: 80}})
	if got := n.lasting(alarm.Uncounted); len(got) != 1 || !strings.Contains(got[0], "50 of the last minute's 100 requests") {
		t.Errorf("%q", got)
	}
}
