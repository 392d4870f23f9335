package console

import (
	"strings"
	"testing"
	"time"

	"edgeguard/admin"
)

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
