package console

import (
	"net/http"
	"slices"
	"time"

	"edgeguard/admin"
	"edgeguard/internal/words"
)

// fleetPage is the fleet as this node sees it.
type fleetPage struct {
	frame
	Fleet *admin.Fleet
	Nodes []nodeRow
	Agree int // alive nodes that have the list of this one
	Other int // that have other rules
	// Silent nodes are alive and have not reported their figures. Those of the others
	// are up to so old; Unsigned ones may be anybody's.
	Silent   int
	Oldest   string
	Unsigned bool
	Chart    *timeChart
}

type nodeRow struct {
	admin.FleetNode
	Seen         string
	This         bool
	Agrees, Ours bool // on the list; runs the version of this node
	OtherRules   bool // known only of a node of the same version
	Memory       string
}

func (p *nodeHandlers) fleet(_ http.ResponseWriter, r *http.Request) (string, any) {
	f := p.frames.of(r, "fleet", "Fleet")
	shown := &fleetPage{frame: f, Fleet: f.stats.Fleet}
	if shown.Fleet == nil {
		return "", &notFound{Text: "This node is not in a fleet.", Fix: "Set fleet.redis in the config, see docs/fleet.md."}
	}
	nodes, oldest := p.reader.FleetNodes(), 0.0
	own := ownNode(nodes, shown.Node)
	if own == nil {
		own = &admin.FleetNode{Version: shown.Version}
	}
	for i := range nodes {
		row := newNodeRow(&nodes[i], own, p.reader.Now())
		row.OtherRules = row.Alive && slices.Contains(shown.Fleet.OtherRules, row.Name)
		switch f := row.Figures; {
		case !row.Alive:
		case f == nil:
			shown.Silent++
		default:
			oldest = max(oldest, f.Age)
			shown.Unsigned = shown.Unsigned || !f.Signed
		}
		if row.Agrees {
			shown.Agree++
		}
		if row.OtherRules {
			shown.Other++
		}
		shown.Nodes = append(shown.Nodes, row)
	}
	shown.Oldest = words.Seconds(int(oldest + 1))
	shown.Chart = chartOf(p.view, r, &shown.frame)
	return "fleet.html", shown
}

// ownNode returns which of the nodes is the one of this name that shows them: where Redis does not
// answer nobody is heard, and this node is there all the same. nil before its first heartbeat.
func ownNode(nodes []admin.FleetNode, name string) (own *admin.FleetNode) {
	for i := range nodes {
		if n := &nodes[i]; n.Name == name && (own == nil || n.Alive && !own.Alive) {
			own = n
		}
	}
	return own
}

// newNodeRow returns the row of a node beside that of the node that shows it, which is
// empty until its own heartbeat was read.
func newNodeRow(n, own *admin.FleetNode, now time.Time) nodeRow {
	row := nodeRow{FleetNode: *n, Seen: words.Length(max(now.Sub(n.LastSeen), 0)), This: n == own, Ours: n.Version == own.Version}
	row.Agrees = n.Alive && own.Name != "" && n.List == own.List && n.Digest == own.Digest
	if f := n.Figures; f != nil {
		row.Memory = words.PercentShare(f.Memory)
	}
	return row
}
