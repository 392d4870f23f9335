package tuning

import (
	"fmt"
	"strings"
)

// Suggestion is a threshold and why.
type Suggestion struct {
	// Outcome is what the threshold would have done. Its Threshold is 0 if
	// nothing was counted, so that there is nothing to suggest.
	Outcome
	// Gap is the one that the limit lies in; zero where none is convincing and
	// the threshold follows a quantile.
	Gap Gap
	// Reason says it in a sentence without a full stop.
	Reason string
}

// Suggest proposes a threshold: a round number in the widest gap between a few
// high peaks and the tail. Where no gap is convincing it is one that all but
// the highest 0.1 % of keys stay under (1 % where there are less than 1,000
// keys, none where there are less than 100).
func (t *Tally) Suggest(limitOf LimitOf) Suggestion {
	if t.Peaks.Total() == 0 {
		return Suggestion{Reason: "nothing was counted, so there is nothing to suggest"}
	}
	if gap, ok := widestGap(t.Top.Sorted(), t.Peaks.Total()); ok {
		if threshold, ok := inside(gap.Low, gap.High, limitOf); ok {
			return t.byGap(gap, t.Outcome(threshold, limitOf))
		}
	}
	return t.byQuantile(limitOf)
}

func (t *Tally) byGap(gap Gap, o Outcome) Suggestion {
	return Suggestion{Outcome: o, Gap: gap, Reason: fmt.Sprintf("the gap between %d and %d separates %s; %s",
		gap.Low, gap.High, t.count(uint64(gap.Keys)), t.effect(o))}
}

func (t *Tally) byQuantile(limitOf LimitOf) Suggestion {
	keys := t.Peaks.Total()
	quantile, part := 1.0, "all "+t.count(keys)
	why := "no gap separates a few " + t.keys.Many + " from the rest"
	switch {
	case keys >= 1000:
		quantile, part = 0.999, "99.9 % of "+t.keys.Many
	case keys >= 100:
		quantile, part = 0.99, "99 % of "+t.keys.Many
	case keys == 1:
		part = "the only " + t.keys.One
		why = "there is nothing to compare with"
	case keys <= minTail:
		why = fmt.Sprintf("%s are too few to tell abusers from the rest", t.count(keys))
	}
	stay := t.Peaks.Quantile(quantile)
	o := t.Outcome(atLeast(stay, limitOf), limitOf)
	verb := "stay"
	if keys == 1 {
		verb = "stays"
	}
	return Suggestion{Outcome: o, Reason: fmt.Sprintf("%s; %s %s at or under %d; %s", why, part, verb, stay, t.effect(o))}
}

// effect is the second half of a reason.
func (t *Tally) effect(o Outcome) string {
	limit := fmt.Sprintf("a limit of %d", o.Limit)
	if o.Limit != o.Threshold {
		limit = fmt.Sprintf("a threshold of %d (limit %d)", o.Threshold, o.Limit)
	}
	if o.Events == 0 {
		return limit + " denies no " + t.events
	}
	return fmt.Sprintf("%s denies %s of %s", limit, percent(o.EventShare), t.events)
}

// count is a number of keys in words: "1 address", "5 addresses".
func (t *Tally) count(n uint64) string {
	if n == 1 {
		return "1 " + t.keys.One
	}
	return fmt.Sprintf("%d %s", n, t.keys.Many)
}

// percent writes a share with as many places as say something.
func percent(share float64) string {
	switch p := 100 * share; {
	case p >= 9.95:
		return fmt.Sprintf("%.0f %%", p)
	case p >= 0.095:
		return fmt.Sprintf("%.1f %%", p)
	case p >= 0.0095:
		return strings.TrimSuffix(fmt.Sprintf("%.2f", p), "0") + " %"
	}
	return "less than 0.01 %"
}
