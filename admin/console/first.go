package console

import (
	"net/http"

	"edgeguard/admin"
)

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

// begin leads to the blocks, or to the ways in while there is nothing to see.
func (p *Pages) begin(w http.ResponseWriter, r *http.Request) {
	to, stats := "/blocked", p.reader.Stats()
	if untouched(&stats) {
		to = "/welcome"
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
}

func (p *Pages) welcome(_ http.ResponseWriter, r *http.Request) (string, any) {
	f, names, limit := p.frame(r, "welcome", "Welcome"), []string(nil), uint32(0)
	for _, s := range f.stats.Sources {
		names = append(names, s.Name)
	}
	if rules := p.reader.Rules(); len(rules) > 0 {
		limit = rules[0].Limit
	}
	return "welcome.html", &welcomePage{f, untouched(&f.stats), f.stats.Events.Decided, f.stats.Sources, welcomeWays(names, limit)}
}
