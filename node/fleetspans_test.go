package node

import (
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard/admin"
	"edgeguard/admin/watch"
	"edgeguard/internal/redistest"
)

// Six hours, a day and an hour that has passed are on each node the sum of all, as the last hour is,
// while somebody looks; the node that ended is in none. A node that measured less than another, or
// nothing, has the same sums.
func TestSpansOfAFleet(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	a, b := startFleet(t, server)
	c := newNode(t, shortDir(t), strings.NewReplacer("$NAME", "edge-c", "$REDIS", server.Addr).Replace(fleetOfTwo)).start()
	now := a.clock.Epoch(a.clock.Now()).Truncate(time.Minute)
	measured := func(u *underTest, ago time.Duration, requests, refused uint64, rule string) {
		u.admin.rates.RestoreMinute(watch.DayMinute{Begin: now.Add(-ago), Requests: requests, Denied: refused, Rules: map[string]watch.RuleCounters{rule: {Denied: refused}}})
	}
	measured(a, 10*time.Hour, 1000, 10, "site")
	measured(a, 3*time.Hour, 2000, 20, "site")
	measured(b, 10*time.Hour, 10_000, 100, "own")
	measured(b, 10*time.Hour-time.Minute, 10_000, 100, "site")
	measured(b, 3*time.Hour, 20_000, 200, "site")
	measured(b, 30*time.Minute, 40_000, 400, "site")
	past := now.Add(-10*time.Hour - 20*time.Minute)
	total := func(all []uint64) (n uint64) {
		for _, one := range all {
			n += one
		}
		return n
	}
	for _, span := range []struct {
		from, until       time.Time
		requests, refused uint64
		rules             int
	}{
		{now.Add(-time.Hour), time.Time{}, 40_000, 400, 1},
		{now.Add(-6 * time.Hour), time.Time{}, 62_000, 620, 1},
		{now.Add(-24 * time.Hour), time.Time{}, 83_000, 830, 2},
		{past, past.Add(time.Hour), 21_000, 210, 2},
	} {
		var h admin.Hours
		for _, u := range []*underTest{a, c} {
			u.eventually("the sum is of all nodes", func() bool {
				h = u.admin.view.Hours(t.Context(), span.from, span.until)
				return len(h.Silent) == 0 && len(h.Nodes) == 2
			})
			if total(h.Requests) != span.requests || total(h.Refused) != span.refused || len(h.Rules) != span.rules || slices.Max(h.Minutes) > 15 {
				t.Errorf("%s to %s on %s: %+v", span.from, span.until, u.pipeline.Current().Config.Node, h)
			}
		}
	}
	b.stop()
	a.eventually("one is gone", func() bool {
		h := a.admin.view.Hours(t.Context(), now.Add(-24*time.Hour), time.Time{})
		return total(h.Requests) == 3_000 && slices.Equal(h.Nodes, []string{"edge-c"}) && len(h.Silent) == 0
	})
}

// Each node says on how many of the fleet's nodes blocks are enforced, and which has other rules: on the front
// page and in its status. All is in step once a reload has made them alike.
func TestModesOfAFleet(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	other := strings.Replace(fleetOfTwo, "threshold: 20,", "threshold: 21,", 1)
	a, b := startFleetOf(t, server, fleetOfTwo, fleetOfTwo+"mode: monitor\n")
	c := newNode(t, shortDir(t), strings.NewReplacer("$NAME", "edge-c", "$REDIS", server.Addr).Replace(other)).start()
	says := func(u *underTest, what string) {
		t.Helper()
		u.eventually("it says "+what, func() bool { text, _ := u.fleet().Modes(); return text == what })
	}
	says(a, "enforcing on 2 of 3 nodes; edge-b is in monitor; edge-c has other rules")
	says(b, "enforcing on 2 of 3 nodes; edge-b is in monitor; edge-c has other rules")
	says(c, "enforcing on 2 of 3 nodes; edge-b is in monitor; edge-a and edge-b have other rules")
	a.request("203.0.113.9") // else the front page is the first steps
	a.eventually("the request is counted", func() bool { return a.view().Stats().Events.Decided > 0 })
	if _, page := a.get("/"); !strings.Contains(page, "Enforcing on 2 of 3 nodes; edge-b is in monitor; edge-c has other rules.") {
		t.Error("the front page does not say it")
	}
	if row := a.view().Stats().Health; !slices.ContainsFunc(row, func(r admin.HealthRow) bool {
		return r.Part == admin.PartMode && r.State == admin.HealthUnknown && strings.Contains(r.Text, "edge-b is in monitor")
	}) {
		t.Errorf("%+v", row)
	}
	b.yaml = strings.Replace(b.yaml, "mode: monitor\n", "", 1)
	c.yaml = strings.Replace(c.yaml, "threshold: 21,", "threshold: 20,", 1)
	for _, u := range []*underTest{b, c} {
		if err := u.Reload(); err != nil {
			t.Fatal(err)
		}
	}
	for _, u := range []*underTest{a, b, c} {
		says(u, "enforcing on 3 nodes, in step")
	}
	c.stop()
	says(a, "enforcing on 2 nodes, in step")
}
