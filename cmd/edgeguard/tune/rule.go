package tune

import (
	"fmt"
	"math"
	"strings"

	"edgeguard/admin/console/draw"
	"edgeguard/internal/words"
	"edgeguard/tuning"
	"edgeguard/tuning/evidence"
)

// rule is a rule's part of the page.
type rule struct {
	*Found
	Curve, NormalCurve *draw.Curve // nil where nothing was counted
	Strips             []strip
}

// strip is the highest keys that look alike, by how much they count.
type strip struct {
	Looks string
	Dots  []dot
}

type dot struct{ X, Label string }

// mostDots is how many keys of a strip are drawn.
const mostDots = 200

func newRule(f *Found) rule {
	r := rule{Found: f}
	if f.Tally.Peaks.Total() == 0 {
		return r
	}
	r.Curve = curve(f, &f.Tally.Peaks)
	if f.Normal != nil && f.Normal.Tally.Peaks.Total() > 0 {
		r.NormalCurve = curve(f, &f.Normal.Tally.Peaks)
	}
	r.Strips = strips(f, r.Curve)
	return r
}

// curve draws a distribution with the rule's limit and the suggested one.
func curve(f *Found, d *tuning.Distribution) *draw.Curve {
	shown := &draw.Distribution{Keys: d.Total(), Counted: words.Plural(d.Total(), "key", "keys"), Unit: f.Tally.Unit, Limit: f.Rule.Limit,
		GapLow: f.Suggestion.Gap.Low, GapHigh: f.Suggestion.Gap.High}
	left := d.Total()
	for b := range d.Buckets() {
		shown.Buckets = append(shown.Buckets, draw.Bucket{Low: b.Low, High: b.High, Keys: b.Count, AtMore: left})
		left -= b.Count
	}
	for _, c := range f.Rule.Candidates {
		shown.Candidates = append(shown.Candidates, c.Limit)
	}
	s := f.Suggestion
	shown.Tried = draw.Tried{Threshold: f.Rule.Threshold, Limit: f.Rule.Limit}
	if shown.Trying = s.Threshold > 0 && s.Threshold != f.Rule.Threshold; shown.Trying {
		shown.Tried = draw.Tried{Threshold: s.Threshold, Limit: s.Limit, Keys: d.Above(s.Limit)}
	}
	c := draw.NewCurve(shown)
	for i := range c.Limits {
		c.Limits[i].Label = strings.Replace(c.Limits[i].Label, "live limit", "the rule's limit", 1)
	}
	if c.Tried != nil {
		c.Tried.Label = strings.Replace(c.Tried.Label, "try ", "suggested ", 1)
	}
	return c
}

// strips draws each of the highest keys by how much it counts, on the axis of the
// curve: those that look hostile, that nothing is known of, and that look benign.
func strips(f *Found, c *draw.Curve) (all []strip) {
	for _, looks := range []tuning.Looks{tuning.Hostile, tuning.Unknown, tuning.Benign} {
		s := strip{Looks: [...]string{"unknown", "benign", "hostile"}[looks]}
		for i := range f.Leaders {
			if l := &f.Leaders[i]; l.Looks == looks && len(s.Dots) < mostDots {
				x := (math.Log10(float64(l.Peak.Peak)) - draw.Begin) / (c.Right - draw.Begin)
				s.Dots = append(s.Dots, dot{draw.Part(x), l.Key.String() + ": " + f.Tally.Unit.Amount(l.Peak.Peak)})
			}
		}
		all = append(all, s)
	}
	return all
}

// Says is the suggestion in a few words.
func (r *rule) Says() string {
	s := &r.Suggestion
	if s.Threshold == 0 {
		return "No suggestion"
	}
	says := fmt.Sprintf("%s in %s (threshold %s)", r.Tally.Unit.Allowed(s.Limit), words.Span(r.Meter.Window), words.Number(s.Threshold))
	if s.Keep {
		return "Keep " + says
	}
	return says
}

// Mark is the class of a row of thresholds.
func (r *rule) Mark(threshold uint32) string {
	switch threshold {
	case r.Rule.Threshold:
		return "own"
	case r.Suggestion.Threshold:
		return "suggested"
	}
	return ""
}

// Changes reports whether another threshold than the rule's is suggested.
func (r *rule) Changes() bool { return evidence.Changes(&r.Suggestion) }

// Allows is what a limit allows, as a number.
func (r *rule) Allows(limit uint32) string { return words.Number(limit / r.Tally.Unit.Each) }

// shownKey is one of the highest keys, with how high it counts in words.
type shownKey struct {
	*topKey
	Amount string
}

// Shown is the highest keys.
func (r *rule) Shown() (all []shownKey) {
	for i := range r.Leaders {
		all = append(all, shownKey{&r.Leaders[i], r.Tally.Unit.Amount(r.Leaders[i].Peak.Peak)})
	}
	return all
}
