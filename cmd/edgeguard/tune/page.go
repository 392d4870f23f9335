package tune

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"time"

	"edgeguard/internal/safetext"
	"edgeguard/internal/words"
	"edgeguard/tuning"
	"edgeguard/tuning/evidence"
)

// Page is what a page shows. It is one HTML file: it needs no other, runs no script, and
// may load nothing.
type Page struct {
	// Files are the inputs, and Normal those of the normal day.
	Files, Normal []string
	First, Last   time.Time
	Events        uint64
	Findings      []*Found
	Presets       []Preset
	Proposed      []evidence.Proposed
}

//go:embed page.html
var markup string

//go:embed page.css
var style string

// parsed is the page. Every text is escaped by it for its place; text of a log is
// stripped besides of what changes the direction of other text, and isolated.
var parsed = template.Must(template.New("page").Funcs(template.FuncMap{
	"number": number, "instant": words.Instant, "strip": safetext.Strip, "span": words.Span,
	"share": words.PercentShare, "percent": func(part, whole uint32) string { return words.Percent(part, whole) },
	"length": func(r *evidence.Record) string { return words.Length(r.Last.Sub(r.First).Round(time.Second)) },
	"looks":  func(l tuning.Looks) string { return [...]string{"unknown", "benign", "hostile"}[l] },
	"often": func(n int, all []evidence.Often, of uint32) []evidence.Often {
		all = common(all, of)
		return all[:min(n, len(all))]
	},
}).Parse(markup))

// number writes any whole number with commas.
func number(n any) (string, error) {
	switch n := n.(type) {
	case int:
		return words.Number(n), nil
	case uint32:
		return words.Number(n), nil
	case uint64:
		return words.Number(n), nil
	}
	return "", fmt.Errorf("%T is not a number", n)
}

// policy forbids all but the page's own style.
func policy() string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'"
}

// Write writes the page.
func (r *Page) Write(w io.Writer) error {
	view := struct {
		*Page
		Policy string
		Style  template.CSS
		Rules  []rule
		Notes  []string
	}{r, policy(), template.CSS(style), nil, Notes(r.Findings)}
	for _, f := range r.Findings {
		view.Rules = append(view.Rules, newRule(f))
	}
	return parsed.Execute(w, &view)
}
