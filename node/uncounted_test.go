package node

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/node/alarm"
)

// lasting returns the active alarms of a kind.
func (u *underTest) lasting(kind string) (texts []string) {
	for _, a := range u.alarms.Lasting() {
		if a.Kind == kind {
			texts = append(texts, a.Text)
		}
	}
	return texts
}

const uncountedConfig = `
node: n1
listen: {auth: ["unix:$DIR/auth.sock"], admin: ["unix:$DIR/admin.sock"]}
allowlist: [198.51.100.0/24]
rules:
  - {name: login, threshold: 20}
`

// Uncounted requests are figures by source and reason; who makes more of them
// than the least limit allows is a condition until the window is over.
func TestUncounted(t *testing.T) {
	n := newNode(t, shortDir(t), uncountedConfig)
	now := n.clock.Now()
	tell := n.sensors.uncounted.uncounter("log a")
	limit := int(boundOf(n.pipeline.Current().Config.Rules).limit)
	one := func(addr string, reason edgeguard.Reason) []edgeguard.Uncounted {
		u := edgeguard.Uncounted{Reason: reason}
		if addr != "" {
			u.Addr = netip.MustParseAddr(addr)
		}
		return []edgeguard.Uncounted{u}
	}
	for range limit {
		tell(now, one("203.0.113.9", edgeguard.LineTooLong))
		tell(now, one("198.51.100.9", edgeguard.LineTooLong)) // allowed: it is never counted
		tell(now, one("198.51.100.9", edgeguard.LineTooLong))
		tell(now, one("", edgeguard.LineMisfit))
	}
	n.sensors.uncounted.check(now)
	if got := n.lasting(alarm.UncountedAddress); got != nil {
		t.Errorf("at the limit: %q", got)
	}
	tell(now, one("203.0.113.9", edgeguard.LineTooLong))
	n.sensors.uncounted.check(now)
	if got := n.lasting(alarm.UncountedAddress); len(got) != 1 || !strings.Contains(got[0], "203.0.113.9 20 in") {
		t.Errorf("over the limit: %q", got)
	}
	want := []admin.Uncounted{
		{Source: "log a", Reason: "line_misfit", Count: uint64(limit)}, {Source: "log a", Reason: "line_too_long", Count: uint64(3*limit + 1)},
	}
	if got := n.view().Stats().Uncounted; !slices.Equal(got, want) {
		t.Errorf("figures %v, want %v", got, want)
	}
	n.sensors.uncounted.check(now.Add(10 * time.Minute))
	if got := n.lasting(alarm.UncountedAddress); got != nil {
		t.Errorf("after the window: %q", got)
	}
}

// A crowd of addresses in which one could hide is reported without a name.
func TestUncountedCrowd(t *testing.T) {
	n := newNode(t, shortDir(t), uncountedConfig)
	now := n.clock.Now()
	tell := n.sensors.uncounted.uncounter("log a")
	var crowd []edgeguard.Uncounted
	for i := range maxUnseen * boundOf(n.pipeline.Current().Config.Rules).limit {
		crowd = append(crowd, edgeguard.Uncounted{Addr: rotated(i)})
	}
	tell(now, crowd)
	n.sensors.uncounted.check(now)
	if got := n.lasting(alarm.UncountedAddress); len(got) != 1 || strings.Contains(got[0], "10.") {
		t.Errorf("%q", got)
	}
}

// The share is of a source's own requests, and its condition ends with the
// trouble, or with the source.
func TestUncountedShare(t *testing.T) {
	n := newNode(t, shortDir(t), uncountedConfig)
	now := n.clock.Now()
	tell := n.sensors.uncounted.uncounter("log a")
	events := uint64(0)
	judge := func(more uint64, uncounted int, sources ...admin.Source) []string {
		tell(now, make([]edgeguard.Uncounted, uncounted))
		events += more
		n.sensors.uncounted.judgeShares(now, append(sources, admin.Source{Name: "log b", Events: 7}))
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
