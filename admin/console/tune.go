package console

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/admin/console/draw"
	"edgeguard/internal/words"
	"edgeguard/tuning"
)

// tunePage is one rule, what its keys count now, and what a threshold would do.
type tunePage struct {
	frame
	ruleLine
	shape
	Typed   string // what the form was sent with
	Problem string // of it
	Curve   *draw.Curve
	Drag    *drag
	Over    []overRow
	More    uint64 // over the limit and not in Over
	Below   *overRow
	Past    *pastDay // nil where no window has ended yet
	Changed *moment  // since when a threshold is in force that is not the config's
	Apply   string   // the page that asks before the tried one is put in force
}

// shape is what a rule's keys count beside its limit and the one that is tried.
type shape struct {
	admin.RuleDetail
	Live, Tried admin.Outcome
	Trying      bool // else Tried is Live
	Buckets     []draw.Bucket
}

// overRow is a key that is over the limit, or the next below it.
type overRow struct {
	Key, Path  string
	Count      string
	Tag, Class string // what it is now
}

const (
	// overLength is how many keys over a limit a page lists.
	overLength = 50
	// highestLength is how many are listed where none is over.
	highestLength = 10
	// looked is how many of the highest keys the page is made of: as many as an
	// outcome tells blocked ones from, and the next below them.
	looked = 1001
)

func (p *ruleHandlers) rule(_ http.ResponseWriter, r *http.Request) (string, any) {
	name := r.PathValue("name")
	thresholds, problem := []uint32{}, ""
	if rule, found := ruleNamed(p.reader, name); found {
		thresholds = append(thresholds, rule.Threshold)
	}
	typed := strings.TrimSpace(r.URL.Query().Get("threshold"))
	if typed != "" {
		threshold, wrong := readThreshold(typed)
		if problem = wrong; wrong == "" {
			thresholds = append(thresholds, threshold)
		}
	}
	d, outcomes, found := p.view.RuleDetail(r.Context(), name, looked, thresholds...)
	if !found || len(outcomes) == 0 {
		return "", &notFound{Text: "There is no rule of this name.", Fix: "The page Rules lists them."}
	}
	shown := &tunePage{frame: p.frames.of(r, "rules", "Rule "+d.Name), ruleLine: newRuleLine(d.Rule), Typed: typed, Problem: problem}
	shown.shape = newShape(d, outcomes)
	if typed == "" || problem == "" {
		shown.Typed = strconv.FormatUint(uint64(shown.Tried.Threshold), 10)
	}
	if d.Keys > 0 {
		shown.Curve = draw.NewCurve(shown.distribution())
		shown.Drag = newDrag(shown)
	}
	shown.list(p.reader)
	if o := shown.Overlay; o != nil {
		since := at(o.Since, p.reader.Now())
		shown.Changed = &since
	}
	if shown.Trying && shown.Tried.Threshold != shown.Threshold {
		shown.Apply = shown.Link + "/threshold?" + url.Values{"threshold": {shown.Typed}}.Encode()
	}
	tried := uint32(0)
	if shown.Trying {
		tried = shown.Tried.Threshold
	}
	day, _ := p.view.History(name, int(tuning.Length/time.Hour), tried)
	shown.Past = newPastDay(day, func(t time.Time) string { return at(t, day.AsOf).Clock })
	return "rule.html", shown
}

// Counted returns the candidate with the threshold that is tried; nil for none.
func (t *tunePage) Counted() *admin.Candidate {
	for i := range t.Candidates {
		if t.Candidates[i].Threshold == t.Tried.Threshold {
			return &t.Candidates[i]
		}
	}
	return nil
}

// Once identifies a form.
func (*tunePage) Once() string { return newID() }

// readThreshold reads a threshold as a person writes it. wrong is empty or says why
// it is none.
func readThreshold(text string) (threshold uint32, wrong string) {
	n, err := strconv.ParseUint(strings.ReplaceAll(text, ",", ""), 10, 32)
	if err != nil || n < 1 || n > edgeguard.MaxLimit {
		return 0, fmt.Sprintf("%.40q is not a threshold. Use a number from 1 to %s.", text, words.Number(edgeguard.MaxLimit))
	}
	return uint32(n), ""
}

// newShape returns what a rule's keys count. The first outcome is that of the
// threshold in force; the second, where there is one, that of the one tried.
func newShape(d admin.RuleDetail, outcomes []admin.Outcome) shape {
	t := shape{RuleDetail: d, Live: outcomes[0], Tried: outcomes[len(outcomes)-1], Trying: len(outcomes) > 1}
	rest := d.Keys
	for _, b := range d.Histogram {
		t.Buckets = append(t.Buckets, draw.Bucket{Low: b.Low, High: b.High, Keys: b.Keys, AtMore: rest})
		rest -= b.Keys
	}
	return t
}

// list fills in the keys over the limit that is tried and the next below it.
func (t *tunePage) list(reader admin.Reader) {
	over := 0
	for over < len(t.Top) && t.Top[over].Count > t.Tried.Limit {
		over++
	}
	listed := min(over, overLength)
	if over == 0 {
		listed = min(len(t.Top), highestLength)
	}
	for i := range t.Top[:listed] {
		t.Over = append(t.Over, newOverRow(reader, &t.Top[i], t.Limit))
	}
	if over > 0 {
		t.More = max(t.Tried.Keys, uint64(over)) - uint64(listed)
	}
	if over > 0 && over < len(t.Top) {
		below := newOverRow(reader, &t.Top[over], t.Limit)
		t.Below = &below
	}
}

// newOverRow returns a key with what it is now: what the API calls new is a key that
// no block contains.
func newOverRow(reader admin.Reader, k *admin.KeyCount, live uint32) overRow {
	row := overRow{Key: k.Shown, Count: k.Unit.Amount(k.Count), Tag: "would be new", Class: "cand"}
	now := reader.Now()
	blocked := len(reader.Find(now, k.Key.Prefix)) > 0
	if k.Key.Prefix.IsValid() {
		row.Path = pathOf(k.Key.Prefix)
		if standing, _ := reader.Glance(now, k.Key.Prefix.Addr()); standing == "allowed" || standing == "protected" {
			row.Tag, row.Class = standing, "ok"
			return row
		}
	}
	switch {
	case blocked:
		row.Tag, row.Class = "blocked", "over"
	case k.Count > live:
		row.Tag, row.Class = "over the live limit", "over"
	}
	return row
}

// distribution returns what the curve shows.
func (t *shape) distribution() *draw.Distribution {
	d := &draw.Distribution{
		Buckets: t.Buckets, Keys: t.Keys, Counted: t.count(t.Keys), Unit: t.Unit, Limit: t.Limit, Trying: t.Trying,
		Tried: draw.Tried{Threshold: t.Tried.Threshold, Limit: t.Tried.Limit, Keys: t.Tried.Keys},
	}
	for _, c := range t.Candidates {
		d.Candidates = append(d.Candidates, c.Limit)
	}
	if g := t.Suggestion.Gap; g != nil {
		d.GapLow, d.GapHigh = g.Low, g.High
	}
	return d
}

// count writes a number of keys.
func (t *shape) count(n uint64) string {
	if t.Key == "address" {
		return words.Plural(n, "address", "addresses")
	}
	return words.Plural(n, "key", "keys")
}

// Noun is what the keys are called.
func (t *shape) Noun() string {
	if t.Key == "address" {
		return "Addresses"
	}
	return "Keys"
}

// Says is how many are counted, and how many of them the limit in force refuses.
func (t *tunePage) Says() string {
	if t.Keys == 0 {
		return "Nothing is counted now."
	}
	is := " are"
	if t.Keys == 1 {
		is = " is"
	}
	text := t.count(t.Keys) + is + " counted now"
	if t.Scope == "fleet" {
		text += " on this node"
	}
	if t.Waits() {
		return text + ". The rule has no limit, and tells nothing."
	}
	return fmt.Sprintf("%s. The live limit of %s (threshold %s) is exceeded by %s.", text, t.Unit.Of(t.Limit), words.Number(t.Threshold)+t.Unit.Note(), t.overLive())
}

func (t *tunePage) overLive() string {
	about := ""
	if !t.Live.Exact {
		about = "about "
	}
	if t.Live.Keys == 0 {
		return "none of them"
	}
	return about + words.Number(t.Live.Keys) + " of them"
}

// long are the numbers of a text that have no comma yet.
var long = regexp.MustCompile(`\b\d{4,}\b`)

// Suggests is the suggestion's reason as a sentence.
func (t *tunePage) Suggests() string {
	reason := long.ReplaceAllStringFunc(t.Suggestion.Reason, func(digits string) string {
		n, _ := strconv.ParseInt(digits, 10, 64)
		return words.Number(n)
	})
	return upper(reason) + "."
}

// Suggested is the page with the suggestion tried; empty where there is none.
func (t *tunePage) Suggested() string {
	if t.Suggestion.Threshold == 0 || t.Suggestion.Threshold == t.Tried.Threshold {
		return ""
	}
	return tryPath(t.Name, t.Suggestion.Threshold)
}

// Share is the part of all events that is over a limit.
func (t *shape) Share(o admin.Outcome) string { return words.PercentShare(o.RequestShare) }

// Fresh says how many of the keys over the tried limit are not blocked; empty where so
// many are over that it is not known.
func (t *tunePage) Fresh() string {
	if t.Tried.NewKeys == nil {
		return ""
	}
	return words.Number(*t.Tried.NewKeys) + " of them not blocked now"
}

// Heading is what the list of keys shows.
func (t *tunePage) Heading() string {
	switch {
	case t.Tried.Keys > 0:
		return t.count(t.Tried.Keys) + " over it"
	case len(t.Over) > 0:
		return "None is over it: the highest counts"
	}
	return "None is over it"
}

// Events is what the keys count, in the plural.
func (t *shape) Events() string { return upper(t.Kind) + "s" }

// YAML is the rule with the threshold that is tried, to be pasted into a config. The
// name is always in quotes: Go's are YAML's, too.
func (t *tunePage) YAML() string {
	was := ""
	if t.Tried.Threshold != t.Threshold {
		was = fmt.Sprintf("; it was %d", t.Threshold)
	}
	return fmt.Sprintf("rules:\n  - name: %s\n    threshold: %d # limit %s%s", strconv.Quote(t.Name), t.Tried.Threshold, t.Unit.Of(t.Tried.Limit), was)
}
