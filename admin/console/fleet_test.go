package console

import (
	"strings"
	"testing"
	"time"

	"edgeguard/admin"
	"edgeguard/admin/watch"
)

// The last hour is on the page of the fleet as bars and as numbers. A name of a rule
// that another node wrote is text.
func TestHourOnThePage(t *testing.T) {
	pages := newLayout(nil, newAssets(files))
	series := []watch.Series{{Step: 60, Until: time.Unix(1_800_000_000, 0), Blocks: []uint64{0, 1234}, Rules: []watch.RuleSeries{
		{Rule: "<i>x", Blocks: []uint64{0, 1000}}, {Rule: "manual", Blocks: []uint64{0, 200}}}}}
	shown := &fleetPage{Fleet: &admin.Fleet{}, Hour: newHour(series, func(time.Time) string { return "12:07:00" })}
	var page strings.Builder
	if err := pages.templates["fleet.html"].ExecuteTemplate(&page, "main", shown); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"in the last 2 minutes", "<td><bdi>&lt;i&gt;x</bdi></td><td><svg", `<path d="M118.0 22.0v-22.0`,
		`<td class="mono">12:07:00</td><td><bdi>&lt;i&gt;x</bdi></td><td class="num mono">1,000</td>`,
		`<span class="muted">by hand</span></td><td class="num mono">200</td>`, `<span class="muted">all others</span></td><td class="num mono">34</td>`} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("%s is not on the page:\n%s", want, page.String())
		}
	}
}

// A node never says of itself that it was not heard: while Redis is away nobody is.
func TestOwnNodeIsHeard(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	nodes := []admin.FleetNode{{Name: "edge-a", Boot: "1"}, {Name: "edge-b"}}
	own := ownNode(nodes, "edge-a")
	shown := &fleetPage{Fleet: &admin.Fleet{}}
	for i := range nodes {
		nodes[i].LastSeen = now.Add(-23 * time.Second)
		shown.Nodes = append(shown.Nodes, newNodeRow(&nodes[i], own, now))
	}
	var page strings.Builder
	if err := newLayout(nil, newAssets(files)).templates["fleet.html"].ExecuteTemplate(&page, "main", shown); err != nil {
		t.Fatal(err)
	}
	if text := page.String(); strings.Count(text, "not heard for 23 s") != 1 || !strings.Contains(text, `edge-a</bdi> <span class="muted">this node</span></td>`) {
		t.Errorf("%s", text)
	}
	nodes = append(nodes, admin.FleetNode{Name: "edge-a", Boot: "2", Alive: true})
	if got := ownNode(nodes, "edge-a"); got.Boot != "2" || ownNode(nodes, "edge-c") != nil {
		t.Errorf("%+v", got)
	}
}

// One cause stands once: what is wrong with the fleet is not told beside itself.
func TestBannersTellOnce(t *testing.T) {
	all := banners(&admin.Stats{Fleet: &admin.Fleet{Fix: "Redis is away: start it"}, Conditions: []string{"Redis is away: start it", "a log is away"}, Kinds: []string{"fleet", "log"}})
	if len(all) != 2 || !strings.HasSuffix(all[0].Text, "Redis is away: start it") || all[1].Text != "a log is away" {
		t.Errorf("%+v", all)
	}
}
