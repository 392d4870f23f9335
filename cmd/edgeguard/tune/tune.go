// Package tune shows what recorded events say of a rule's threshold. It writes what
// `edgeguard tune` found as text, as JSON, or as one page of HTML.
package tune

import (
	"cmp"
	"net/netip"
	"slices"

	"edgeguard"
	"edgeguard/cmd/edgeguard/output"
	"edgeguard/replay"
	"edgeguard/tuning"
	"edgeguard/tuning/evidence"
)

// Found is what was found of one rule.
type Found struct {
	*replay.RuleReport
	Suggestion tuning.Suggestion
	// Normal is what the rule counted on a normal day; nil without a log of one.
	Normal *evidence.Normal
	// Now is what the keys over the rule's limit look like.
	Now tuning.Caught
	// Leaders are the highest keys.
	Leaders []topKey
}

// topKey is a key and what is known of it.
type topKey struct {
	tuning.Peak
	evidence.Judgement
	Record     *evidence.Record // nil if nothing is known
	Network    netip.Prefix
	Neighbours []evidence.Neighbour
}

// Find returns what was found of a rule, the number of which the book watches: with at most
// rows leaders, 0 for all that are kept. An empty book says nothing: then the suggestion
// goes by the counts.
func Find(number int, rr *replay.RuleReport, normal *evidence.Normal, book *evidence.Book, rows int) *Found {
	f := &Found{RuleReport: rr, Normal: normal}
	if rr.Rule.Pending { // shown by the greatest limit that it can learn
		shown := *rr.Rule
		shown.Limit, rr.Rule = shown.Guard.Limit(shown.Threshold), &shown
	}
	f.Suggestion = book.Suggest(f.question(number))
	f.Now = rr.Tally.Caught(rr.Rule.Limit, func(key edgeguard.Key) tuning.Looks { return book.Judge(key).Looks })
	for _, p := range output.First(rr.Tally.Top.Sorted(), rows) {
		f.Leaders = append(f.Leaders, leader(p, book))
	}
	return f
}

func (f *Found) question(number int) evidence.Question {
	return evidence.Question{Rule: f.Rule, Tally: f.Tally, Number: number, Normal: f.Normal}
}

// Check tries the suggestion on a part of the log that it is not chosen by.
func (f *Found) Check(number int, book *evidence.Book, first, last evidence.Portion) {
	f.Suggestion = book.Check(f.question(number), f.Suggestion, first, last)
}

// Unchecked says why the suggestion was not tried on a part of the log.
func (f *Found) Unchecked(why string) { f.Suggestion.Holdout = &tuning.Holdout{Unchecked: why} }

// leader returns what is known of a key.
func leader(p tuning.Peak, book *evidence.Book) topKey {
	l := topKey{Peak: p, Judgement: book.Judge(p.Key), Record: book.Record(p.Key.Prefix)}
	l.Network, l.Neighbours = book.Neighbours(p.Key.Prefix)
	return l
}

// Outcomes returns what thresholds would have done: round ones, the rule's own, its
// candidates and the suggested one.
func (f *Found) Outcomes() []tuning.Outcome {
	t, limitOf := f.Tally, f.Rule.Guard.Limit
	ladder := t.Outcomes(nil, limitOf)
	extra := []uint32{f.Rule.Threshold, f.Suggestion.Threshold}
	for _, c := range f.Rule.Candidates {
		extra = append(extra, c.Threshold)
	}
	for _, threshold := range extra {
		if threshold > 0 {
			ladder = append(ladder, t.Outcome(threshold, limitOf))
		}
	}
	slices.SortFunc(ladder, func(a, b tuning.Outcome) int { return cmp.Compare(a.Threshold, b.Threshold) })
	return slices.CompactFunc(ladder, func(a, b tuning.Outcome) bool { return a.Threshold == b.Threshold })
}

// NormalKeys is how many keys a threshold would have refused on the normal day.
func (f *Found) NormalKeys(threshold uint32) uint64 {
	return f.Normal.Tally.Outcome(threshold, f.Rule.Guard.Limit).Keys
}

// note says what a threshold of the ladder is.
func (f *Found) note(threshold uint32) string {
	switch {
	case threshold == f.Rule.Threshold && !f.Rule.Pending:
		return "← the rule"
	case f.isCandidate(threshold):
		return "← candidate"
	case threshold == f.Suggestion.Threshold:
		return "← suggested"
	}
	return ""
}

func (f *Found) isCandidate(threshold uint32) bool {
	for _, c := range f.Rule.Candidates {
		if c.Threshold == threshold {
			return true
		}
	}
	return false
}

// peakOf returns the highest count of an address under a rule, if it is among those
// kept.
func peakOf(rr *replay.RuleReport, in netip.Prefix) (tuning.Peak, bool) {
	for _, p := range rr.Tally.Top.Sorted() {
		if p.Key.Prefix.Overlaps(in) {
			return p, true
		}
	}
	return tuning.Peak{}, false
}

func keyOf(p netip.Prefix) edgeguard.Key { return edgeguard.Key{Prefix: p} }
