package console

import (
	"net/http"

	"edgeguard/admin"
)

// nodeHandlers answer with what is to be known of the node itself and of its fleet, and
// lead to the other pages.
type nodeHandlers struct {
	frames *frames
	reader admin.Reader
	view   *admin.View
}

// welcomePage is how to begin.
type welcomePage struct {
	frame
	Waiting bool
	Events  uint64
	Sources []admin.Source
	Ways    []welcomeWay
}

// untouched reports whether a node has counted nothing, neither in this run nor in
// what it kept of those before, and has no block.
func untouched(stats *admin.Stats) bool {
	return stats.Events.Decided == 0 && stats.Tables.Keys == 0 && stats.V4+stats.V6 == 0
}

func (p *nodeHandlers) welcome(_ http.ResponseWriter, r *http.Request) (string, any) {
	f, limit := p.frames.of(r, "welcome", "Welcome"), uint32(0)
	if rules := p.reader.Rules(); len(rules) > 0 {
		limit = rules[0].Limit
	}
	return "welcome.html", &welcomePage{f, untouched(&f.stats), f.stats.Events.Decided, f.stats.Sources, welcomeWays(f.stats.Sources, limit)}
}
