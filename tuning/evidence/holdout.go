package evidence

import (
	"fmt"
	"time"

	"edgeguard"
	"edgeguard/internal/words"
	"edgeguard/tuning"
)

// A threshold that is chosen by a log looks good on it. So it is chosen by the first two
// thirds of the log's time, and tried on the last.

// A part must be so long: the people of a day are not those of an hour, and one window is
// no sample.
const (
	leastPart    = 24 * time.Hour
	leastWindows = 3
)

// Portion is one of two parts of a log: what a rule counted in it and what its addresses did in it.
type Portion struct {
	Tally *tuning.Tally
	Book  *Book
}

func (p *Portion) above(limit uint32) tuning.Caught {
	return p.Tally.Caught(limit, func(key edgeguard.Key) tuning.Looks { return p.Book.Judge(key).Looks })
}

// Split returns where the last third of a log begins, and false if no rule with such a
// window can be tried on it.
func Split(first, last time.Time, window time.Duration) (at time.Time, ok bool) {
	third := last.Sub(first) / 3
	return last.Add(-third), third >= leastPart && third >= leastWindows*window
}

// TooShort says why a log cannot be split for a rule with such a window.
func TooShort(window time.Duration) string {
	return "the last third of the log would have to be as long as " + words.Span(max(leastPart, leastWindows*window))
}

// Changes reports whether a suggestion is another threshold than the rule's.
func Changes(s *tuning.Suggestion) bool { return s.Threshold > 0 && !s.Keep }

// Check answers a question anew, of which this is the answer by the whole log: by the first
// part of it, tried on the last.
func (b *Book) Check(q Question, whole tuning.Suggestion, first, last Portion) tuning.Suggestion {
	chosen := first.Book.Suggest(Question{Rule: q.Rule, Tally: first.Tally, Number: q.Number, Normal: q.Normal})
	if !Changes(&chosen) {
		whole.Holdout = &tuning.Holdout{Unchecked: "the first two thirds of the log suggest nothing"}
		return whole
	}
	all := Portion{q.Tally, b}
	h := &tuning.Holdout{Then: last.above(chosen.Limit), Now: last.above(q.Rule.Limit)}
	then, now := all.above(chosen.Limit), all.above(q.Rule.Limit)
	customers := max(h.Then.Benign-h.Now.Benign, then.Benign-now.Benign)
	if customers > 0 || then.Hostile < now.Hostile {
		h.Withdrawn = true
		refuses := fmt.Sprintf("refuses %s that look like customers", words.Plural(customers, "address", "addresses"))
		if customers <= 0 {
			refuses = "misses some that look hostile and that the rule catches"
		}
		return tuning.Suggestion{Holdout: h, Brief: "withdrawn: fails on the last third",
			Reason: fmt.Sprintf("withdrawn: a limit of %s, chosen by the first two thirds of the log, %s in the rest: the limit stays", q.Tally.Unit.Allowed(chosen.Limit), refuses)}
	}
	chosen.Outcome = q.Tally.Outcome(chosen.Threshold, q.Rule.Guard.Limit)
	chosen.Above, chosen.Holdout = then, h
	chosen.Reason = fmt.Sprintf("by the first two thirds of the log: %s; in the last third it catches %s, of which %d look hostile and %d like customers (the rule as it is: %d and %d)", chosen.Reason,
		words.Plural(h.Then.Hostile+h.Then.Benign+h.Then.Unknown, "address", "addresses"), h.Then.Hostile, h.Then.Benign, h.Now.Hostile, h.Now.Benign)
	return chosen
}
