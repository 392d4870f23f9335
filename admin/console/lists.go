package console

import (
	"net/http"

	"edgeguard/admin"
	"edgeguard/internal/words"
)

// listHandlers answer with who is never blocked, and with what awaits confirmation.
type listHandlers struct {
	frames *frames
	reader admin.Reader
}

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

func (p *listHandlers) allowed(_ http.ResponseWriter, r *http.Request) (string, any) {
	shown, now := &allowedPage{frame: p.frames.of(r, "allowed", "Allowed")}, p.reader.Now()
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
	Elsewhere  []elsewhereRow // what is in force that this node did not make
	Acts       []link         // none: a row has them
}

type heldRow struct {
	admin.HeldBlock
	Name, Path, Share, Since string
	Acts                     []link
}

// heldLength is how many the page shows.
const heldLength = 200

func (p *listHandlers) held(_ http.ResponseWriter, r *http.Request) (string, any) {
	shown, now := &heldPage{frame: p.frames.of(r, "blocked/held", "Awaiting confirmation")}, p.reader.Now()
	all := p.reader.Held()
	for _, h := range all[:min(len(all), heldLength)] {
		shown.Rows = append(shown.Rows, heldRow{h, shortest(h.Prefix), pathOf(h.Prefix), words.PercentShare(h.Share), at(h.Held, now).Ago, shown.offer(shortest(h.Prefix), "confirm", "withdraw")})
	}
	shown.More, shown.Elsewhere = len(all)-len(shown.Rows), elsewhereRows(&shown.stats)
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
