package console

import (
	"fmt"
	"net/http"

	"edgeguard/admin"
	"edgeguard/internal/words"
)

// rulesPage is the list of rules.
type rulesPage struct {
	frame
	Rules []ruleLine
}

// ruleLine is a rule and what became of it.
type ruleLine struct {
	admin.Rule
	Link      string
	Span      string // its window
	Blocks    string // for how long it blocks
	Crossings uint64
}

func newRuleLine(r admin.Rule) ruleLine {
	line := ruleLine{Rule: r, Link: "/rules/" + r.Name, Span: spanOf(r.Window)}
	if r.BlockFor > 0 {
		line.Blocks = spanOf(r.BlockFor)
	}
	for _, c := range r.Crossings {
		line.Crossings += c.Count
	}
	return line
}

func (p *Pages) rules(_ http.ResponseWriter, r *http.Request) (string, any) {
	shown := &rulesPage{frame: p.frame(r, "rules", "Rules")}
	for _, rule := range p.reader.Rules() {
		shown.Rules = append(shown.Rules, newRuleLine(rule))
	}
	return "rules.html", shown
}

// rulePage is one rule and what its keys count now.
type rulePage struct {
	frame
	ruleLine
	Keys      uint64
	Over      uint64 // keys over the limit, among Top where Exact
	Quantiles admin.Quantiles
	Curve     *curve
	Buckets   []bucketRow
	Top       []keyRow
}

// bucketRow is how many keys count about so many.
type bucketRow struct {
	Low, High    uint32
	Keys, AtMore uint64 // with this count; with this count or more
}

// topLength is how many keys a page lists.
const topLength = 50

func (p *Pages) rule(_ http.ResponseWriter, r *http.Request) (string, any) {
	d, found := p.view.RuleDetail(r.Context(), r.PathValue("name"), topLength)
	if !found {
		return "", &notFound{Text: "There is no rule of this name.", Fix: "The page Rules lists them."}
	}
	shown := &rulePage{frame: p.frame(r, "rules", "Rule "+d.Name), ruleLine: newRuleLine(d.Rule), Keys: d.Keys, Quantiles: d.Quantiles}
	rest := d.Keys
	for _, b := range d.Histogram {
		shown.Buckets = append(shown.Buckets, bucketRow{b.Low, b.High, b.Keys, rest})
		rest -= b.Keys
	}
	if d.Keys > 0 {
		drawn := newCurve(shown.Buckets, d.Limit)
		shown.Curve = &drawn
	}
	for _, k := range d.Top {
		if k.Count > d.Limit {
			shown.Over++
		}
		shown.Top = append(shown.Top, newKeyRow(&k))
	}
	return "rule.html", shown
}

// Says is how many are counted and how many are over, in a sentence.
func (r *rulePage) Says() string {
	if r.Keys == 0 {
		return "Nothing is counted now."
	}
	over := words.Number(r.Over)
	if r.Over == uint64(len(r.Top)) && r.Over > 0 {
		over = "at least " + over
	}
	return fmt.Sprintf("%s counted now. The limit of %s (threshold %s) is exceeded by %s.",
		words.Plural(r.Keys, "key is", "keys are"), words.Number(r.Limit), words.Number(r.Threshold), over)
}

// keyRow is a key beside its limit.
type keyRow struct {
	Rule, Key, Path string
	Count, Limit    uint32
	Fleet           *admin.FleetCount
	Share           string
}

func newKeyRow(k *admin.KeyCount) keyRow {
	row := keyRow{Rule: k.Rule, Key: k.Shown, Count: k.Count, Limit: k.Limit, Fleet: k.Fleet, Share: words.Percent(k.Count, k.Limit)}
	if k.Key.Prefix.IsValid() {
		row.Path = pathOf(k.Key.Prefix)
	}
	return row
}

// nearPage is who is over 80 % of a limit.
type nearPage struct {
	frame
	Keys    []keyRow
	Nearest *keyRow // where none is
}

// nearLength is how many keys are looked at.
const nearLength = 100

func (p *Pages) near(_ http.ResponseWriter, r *http.Request) (string, any) {
	shown := &nearPage{frame: p.frame(r, "near", "Near a limit")}
	for i, k := range p.view.Nearest(r.Context(), nearLength) {
		row := newKeyRow(&k)
		if 5*uint64(k.Count) > 4*uint64(k.Limit) {
			shown.Keys = append(shown.Keys, row)
		} else if i == 0 {
			shown.Nearest = &row
		}
	}
	return "near.html", shown
}
