package console

import (
	"iter"
	"net/http"
	"net/netip"
	"strings"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/internal/words"
)

// allowedPage is who is never blocked.
type allowedPage struct {
	frame
	Rows []allowedRow
	Acts []link
}

type allowedRow struct {
	Prefix, Path, Reason, Origin string
	Config                       bool
	Since, Until                 moment
	Endless                      bool
	TakeBack                     string // the page that does; empty for none
}

func (p *Pages) allowed(_ http.ResponseWriter, r *http.Request) (string, any) {
	shown, now := &allowedPage{frame: p.frame(r, "allowed", "Allowed")}, p.reader.Now()
	shown.Acts = shown.offer("", "allow")
	for _, prefix := range p.reader.Allowlist() {
		shown.Rows = append(shown.Rows, allowedRow{Prefix: shortest(prefix), Path: pathOf(prefix), Config: true})
	}
	for b := range p.reader.Allowances(now) {
		a := admin.NewAllowance(b)
		shown.Rows = append(shown.Rows, allowedRow{Prefix: shortest(a.Prefix), Path: pathOf(a.Prefix), Reason: a.Reason, Origin: a.Origin,
			Since: at(a.Since, now), Until: at(a.Until, now), Endless: a.Until.IsZero(), TakeBack: actPath("disallow", shortest(a.Prefix), shown.Path)})
	}
	return "allowed.html", shown
}

// heldPage is what awaits confirmation.
type heldPage struct {
	frame
	Rows []heldRow
	More int
	// Thresholds are of the whole fleet, and wait here.
	Thresholds []admin.Rule
	Acts       []link // none: a row has them
}

type heldRow struct {
	admin.HeldBlock
	Name, Path, Share, Since string
	Acts                     []link
}

// heldLength is how many the page shows.
const heldLength = 200

func (p *Pages) held(_ http.ResponseWriter, r *http.Request) (string, any) {
	shown, now := &heldPage{frame: p.frame(r, "held", "Awaiting confirmation")}, p.reader.Now()
	all := p.reader.Held()
	for _, h := range all[:min(len(all), heldLength)] {
		shown.Rows = append(shown.Rows, heldRow{h, shortest(h.Prefix), pathOf(h.Prefix), words.PercentShare(h.Share), at(h.Held, now).Ago, shown.offer(shortest(h.Prefix), "confirm", "withdraw")})
	}
	shown.More = len(all) - len(shown.Rows)
	for _, rule := range p.reader.Rules() {
		if rule.Fleet != nil && rule.Fleet.Held {
			shown.Thresholds = append(shown.Thresholds, rule)
		}
	}
	return "held.html", shown
}

// Once identifies a form, RulePath is the page of a rule and Percent a share in words.
func (*heldPage) Once() string                 { return newID() }
func (*heldPage) RulePath(rule string) string  { return rulePath(rule) }
func (*heldPage) Percent(share float64) string { return words.PercentShare(share) }

// networkPage is the blocks inside a network, and those around it.
type networkPage struct {
	frame
	Network        string
	Around, Inside blockTable
	More           bool
	Acts           []link
}

// networkLength is how many blocks the page of a network shows.
const networkLength = 100

func (p *Pages) network(w http.ResponseWriter, r *http.Request) (string, any) {
	prefix, err := netip.ParsePrefix(r.PathValue("prefix"))
	if err != nil {
		return "", &notFound{Text: r.PathValue("prefix") + " is not a network.", Fix: "Try 203.0.113.0/24 or 2001:db8::/64."}
	}
	if prefix.IsSingleIP() || prefix != prefix.Masked() {
		http.Redirect(w, r, pathOf(prefix.Masked()), http.StatusSeeOther)
		return "", nil
	}
	shown, now := &networkPage{frame: p.frame(r, "network", prefix.String()), Network: prefix.String()}, p.reader.Now()
	shown.Around.Heads, shown.Inside.Heads = plainHeads(), plainHeads()
	shown.Around.May, shown.Inside.May = shown.May, shown.May
	shown.Acts = p.offers(&shown.frame, prefix)
	for _, b := range p.reader.Active(append(p.reader.Find(now, prefix), p.reader.ImportedAround(now, prefix)...)) {
		shown.Around.Rows = append(shown.Around.Rows, p.row(&shown.frame, now, &b))
	}
	inside := within(nil, p.reader.Blocks(now, prefix), prefix)
	for _, l := range p.reader.Imports().Feeds {
		if others, ok := p.reader.ImportedBy(now, edgeguard.OwnerRule(l.Name), prefix); ok {
			inside = within(inside, others, prefix)
			break // they are of all lists
		}
	}
	if shown.More = len(inside) > networkLength; shown.More {
		inside = inside[:networkLength]
	}
	for _, b := range p.reader.Active(inside) {
		shown.Inside.Rows = append(shown.Inside.Rows, p.row(&shown.frame, now, &b))
	}
	return "network.html", shown
}

// within adds the blocks that lie inside a prefix, and are not of exactly it, to others: at
// most one more than a page shows.
func within(all []edgeguard.Block, blocks iter.Seq[edgeguard.Block], prefix netip.Prefix) []edgeguard.Block {
	for b := range blocks {
		if !prefix.Contains(b.Prefix.Addr()) || b.Prefix.Bits() < prefix.Bits() || len(all) > networkLength {
			break
		}
		if b.Prefix != prefix {
			all = append(all, b)
		}
	}
	return all
}

// find sends a browser to what it searches: an address, a network or a rule.
func (p *Pages) find(w http.ResponseWriter, r *http.Request) {
	text := strings.TrimSpace(r.URL.Query().Get("q"))
	if addr, err := netip.ParseAddr(pasted(text)); err == nil && addr.Zone() == "" {
		http.Redirect(w, r, "/address/"+addr.Unmap().String(), http.StatusSeeOther)
		return
	}
	if prefix, err := netip.ParsePrefix(pasted(text)); err == nil {
		http.Redirect(w, r, pathOf(prefix.Masked()), http.StatusSeeOther)
		return
	}
	for _, rule := range p.reader.Rules() {
		if rule.Name == text {
			http.Redirect(w, r, rulePath(rule.Name), http.StatusSeeOther)
			return
		}
	}
	p.html(func(http.ResponseWriter, *http.Request) (string, any) {
		return "", &notFound{Text: "“" + text + "” is not an address, a network or a rule.", Fix: "Try 203.0.113.7 or 203.0.113.0/24."}
	}).ServeHTTP(w, r)
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
func (p *Pages) about(_ http.ResponseWriter, r *http.Request) (string, any) {
	f := p.frame(r, "about", "About")
	return "about.html", &struct {
		frame
		Stats   admin.Stats
		Started moment
		Keys    []key
	}{f, f.stats, at(f.stats.Started, f.stats.Time), shortcuts}
}
