package console

import (
	"net/http"
	"net/netip"
	"strings"

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

// begin leads to the blocks, or to the ways in while there is nothing to see.
func (p *nodeHandlers) begin(w http.ResponseWriter, r *http.Request) (string, any) {
	to, stats := "/blocked", p.reader.Stats()
	if untouched(&stats) {
		to = "/welcome"
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
	return "", nil
}

func (p *nodeHandlers) welcome(_ http.ResponseWriter, r *http.Request) (string, any) {
	f, limit := p.frames.of(r, "welcome", "Welcome"), uint32(0)
	if rules := p.reader.Rules(); len(rules) > 0 {
		limit = rules[0].Limit
	}
	return "welcome.html", &welcomePage{f, untouched(&f.stats), f.stats.Events.Decided, f.stats.Sources, welcomeWays(f.stats.Sources, limit)}
}

// find sends a browser to what it searches: an address, a network or a rule.
func (p *nodeHandlers) find(w http.ResponseWriter, r *http.Request) (string, any) {
	text := strings.TrimSpace(r.URL.Query().Get("q"))
	if addr, err := netip.ParseAddr(pasted(text)); err == nil && addr.Zone() == "" {
		http.Redirect(w, r, "/address/"+addr.Unmap().String(), http.StatusSeeOther)
		return "", nil
	}
	if prefix, err := netip.ParsePrefix(pasted(text)); err == nil {
		http.Redirect(w, r, pathOf(prefix.Masked()), http.StatusSeeOther)
		return "", nil
	}
	if rule, found := ruleNamed(p.reader, text); found {
		http.Redirect(w, r, rulePath(rule.Name), http.StatusSeeOther)
		return "", nil
	}
	return "", &notFound{Text: "“" + text + "” is not an address, a network or a rule.", Fix: "Try 203.0.113.7 or 203.0.113.0/24."}
}

// pasted returns an address or a network without what a log or a mail has around it:
// quotes, brackets, a comma, the client's port.
func pasted(text string) string {
	text = strings.Trim(text, " \t\"'`“”<>(),;.")
	if client, err := netip.ParseAddrPort(text); err == nil {
		return client.Addr().String()
	}
	return strings.Trim(text, "[]")
}

// key is a key of the keyboard and what it does, where scripts are on.
type key struct{ Key, Does string }

var shortcuts = []key{
	{"/", "search"}, {"j", "next row"}, {"k", "row before"}, {"Enter", "open the row"}, {"u", "unblock what the row or the page is about; it asks first"},
	{".", "show newer blocks"}, {"g b", "Blocked"}, {"g n", "Near a limit"}, {"g r", "Rules"}, {"g f", "Fleet"}, {"g a", "Activity"}, {"t", "light or dark"}, {"?", "this list"},
}

// about is what this node is.
func (p *nodeHandlers) about(_ http.ResponseWriter, r *http.Request) (string, any) {
	f := p.frames.of(r, "about", "About")
	return "about.html", &struct {
		frame
		Stats   admin.Stats
		Started moment
		Keys    []key
	}{f, f.stats, at(f.stats.Started, f.stats.Time), shortcuts}
}
