package tuning

import (
	"fmt"
	"strings"
)

// Suggestion is a threshold and why.
type Suggestion struct {
	// Outcome is what the threshold would have done. Its Threshold is 0 if there is
	// nothing to suggest: nothing or too little was counted, or no abuser is visible.
	Outcome
	// Gap is the one that the limit lies in; zero where none is convincing.
	Gap Gap
	// Keep says that the rule is better as it is: Threshold is its own.
	Keep bool
	// Above is how many keys over the limit look like what, where that is known.
	Above Caught
	// Reason says it in a sentence without a full stop.
	Reason string
}

// What a log must have before it says anything.
const (
	minKeys   = 10
	minEvents = 100
)

// Suggest proposes a threshold by the counts alone: a round number in the widest gap
// between a few high peaks and the tail. Where no gap is convincing it proposes none:
// a threshold that the highest part of all keys exceeds would refuse customers on a
// day without an attack.
func (t *Tally) Suggest(limitOf LimitOf) Suggestion {
	if s, ok := t.tooLittle(0); ok {
		return s
	}
	if gap, ok := widestGap(t.Top.Sorted(), t.Peaks.Total()); ok {
		if threshold, ok := t.inside(gap.Low, gap.High, limitOf); ok {
			return t.byGap(gap, t.Outcome(threshold, limitOf))
		}
	}
	return t.noAbuser(limitOf)
}

// tooLittle returns what to say of a log that says nothing. known is how many keys the
// log has beside those that the rule counted.
func (t *Tally) tooLittle(known uint64) (Suggestion, bool) {
	keys, events := t.Peaks.Total(), max(t.Peaks.Sum(), t.Events.Total())
	switch {
	case keys == 0:
		return Suggestion{Reason: "nothing was counted, so there is nothing to suggest"}, true
	case events < minEvents:
		return Suggestion{Reason: fmt.Sprintf("too little to say: fewer than %d %s were counted", minEvents, t.noun)}, true
	case max(keys, known) < minKeys:
		return Suggestion{Reason: fmt.Sprintf("too little to say: %s cannot be compared with others", t.count(keys))}, true
	}
	return Suggestion{}, false
}

// noAbuser returns what to say where nothing stands out.
func (t *Tally) noAbuser(limitOf LimitOf) Suggestion {
	highest := t.Peaks.Max()
	return Suggestion{Reason: fmt.Sprintf("no abuser is visible: the highest of %s counts %d, and no gap separates a few from the rest; a threshold of %d leaves all of them room",
		t.count(t.Peaks.Total()), highest, atLeast(roomAbove(highest), limitOf))}
}

func (t *Tally) byGap(gap Gap, o Outcome) Suggestion {
	return Suggestion{Outcome: o, Gap: gap, Reason: fmt.Sprintf("the gap between %d and %d separates %s; %s",
		gap.Low, gap.High, t.count(uint64(gap.Keys)), t.effect(o))}
}

// effect is the second half of a reason.
func (t *Tally) effect(o Outcome) string {
	limit := fmt.Sprintf("a limit of %d", o.Limit)
	if o.Limit != o.Threshold {
		limit = fmt.Sprintf("a threshold of %d (limit %d)", o.Threshold, o.Limit)
	}
	if o.Events == 0 {
		return limit + " denies no " + t.noun
	}
	return fmt.Sprintf("%s denies %s of %s", limit, percent(o.EventShare), t.noun)
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
