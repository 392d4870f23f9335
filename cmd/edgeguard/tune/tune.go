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
	// Outcomes are what thresholds would have done: round ones, the rule's own, its
	// candidates and the suggested one.
	Outcomes []tuning.Outcome
	// Normal is what the rule counted on a normal day; nil without a log of one.
	Normal *Normal
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

// Find returns what was found of a rule: with at most rows leaders, 0 for all that
// are kept. An empty book says nothing: then the suggestion goes by the counts.
func Find(rr *replay.RuleReport, normal *Normal, book *evidence.Book, rows int) *Found {
	f := &Found{RuleReport: rr, Normal: normal}
	highest := uint32(0)
	if normal != nil {
		highest = normal.Highest
	}
	limitOf := rr.Rule.Guard.Limit
	if book.Len() > 0 {
		f.Suggestion = rr.Tally.SuggestBy(limitOf, book.Basis(rr.Rule.Threshold, highest))
	} else {
		f.Suggestion = rr.Tally.Suggest(limitOf)
	}
	f.Outcomes = f.ladder()
	for _, p := range output.First(rr.Tally.Top.Sorted(), rows) {
		f.Leaders = append(f.Leaders, leader(p, book))
	}
	return f
}

// leader returns what is known of a key.
func leader(p tuning.Peak, book *evidence.Book) topKey {
	l := topKey{Peak: p, Judgement: book.Judge(p.Key), Record: book.Record(p.Key.Prefix)}
	l.Network, l.Neighbours = book.Neighbours(p.Key.Prefix)
	return l
}

// ladder adds the rule's own threshold, its candidates and the suggested threshold to
// round ones.
func (f *Found) ladder() []tuning.Outcome {
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
	case threshold == f.Rule.Threshold:
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
