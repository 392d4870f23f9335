package tuning

import (
	"fmt"
	"strings"

	"edgeguard/internal/words"
	"edgeguard/rules"
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
	// Reason says it in a sentence without a full stop, and Brief in a few words.
	Reason, Brief string
	// Holdout is what the threshold did in a part of the log that it was not chosen by; nil
	// where none is suggested.
	Holdout *Holdout
}

// Holdout is a part of a log that a threshold was not chosen by: the last third.
type Holdout struct {
	// Unchecked says why the threshold was not tried on it; empty where it was.
	Unchecked string
	// Then are the keys over the suggested limit in it, and Now those over the rule's.
	Then, Now Caught
	// Withdrawn says that the threshold is not suggested any more because of it.
	Withdrawn bool
}

// What a log must have before it says anything.
const (
	minKeys   = 10
	minEvents = 100
)

// Suggest proposes a threshold by the counts alone: a round number in the widest gap
// between a few high peaks and the tail. Where no gap is convincing it proposes none:
// a threshold that the highest part of all keys exceeds would refuse customers on a
// day without an attack. Nor does it propose one that leaves those no room whom the rule
// must spare.
func (t *Tally) Suggest(limitOf LimitOf, people rules.People) Suggestion {
	if s, ok := t.tooLittle(0); ok {
		return s
	}
	gap, ok := widestGap(t.Top.Sorted(), t.Peaks.Total())
	if !ok {
		return t.noAbuser(limitOf)
	}
	if threshold, ok := t.inside(max(gap.Low, spareRoom(people)), gap.High, limitOf); ok {
		return t.byGap(gap, t.Outcome(threshold, limitOf))
	}
	if people.Count > 0 {
		return Suggestion{Reason: fmt.Sprintf("the gap between %s and %s separates %s, but %s",
			t.Unit.Amount(gap.Low), t.Unit.Of(gap.High), t.count(uint64(gap.Keys)), t.spare(people)), Brief: t.spareBriefly(people)}
	}
	return t.noAbuser(limitOf)
}

// spare says of a lower limit why it is none.
func (t *Tally) spare(people rules.People) string {
	return fmt.Sprintf("people count up to %s (%s), and a limit leaves them room from %s on: it stays", t.Unit.Of(people.Count), people.Scene, t.Unit.Amount(spareRoom(people)))
}

func (t *Tally) spareBriefly(people rules.People) string {
	return fmt.Sprintf("people count %s (%s)", t.Unit.Amount(people.Count), people.Scene)
}

// tooLittle returns what to say of a log that says nothing. known is how many keys the
// log has beside those that the rule counted.
func (t *Tally) tooLittle(known uint64) (Suggestion, bool) {
	keys, events := t.Peaks.Total(), max(t.Peaks.Sum(), t.Events.Total())
	switch {
	case keys == 0:
		return Suggestion{Reason: "nothing was counted, so there is nothing to suggest", Brief: "nothing was counted"}, true
	case events < minEvents:
		return Suggestion{Reason: fmt.Sprintf("too little to say: fewer than %d %s were counted", minEvents, t.noun), Brief: fmt.Sprintf("fewer than %d %s", minEvents, t.noun)}, true
	case max(keys, known) < minKeys:
		return Suggestion{Reason: fmt.Sprintf("too little to say: %s cannot be compared with others", t.count(keys)), Brief: "only " + t.count(keys)}, true
	}
	return Suggestion{}, false
}

// noAbuser returns what to say where nothing stands out.
func (t *Tally) noAbuser(limitOf LimitOf) Suggestion {
	highest := t.Peaks.Max()
	return Suggestion{Brief: "no abuser is visible", Reason: fmt.Sprintf("no abuser is visible: the highest of %s counts %s, and no gap separates a few from the rest; a threshold of %s leaves all of them room",
		t.count(t.Peaks.Total()), t.Unit.Of(highest), words.Number(t.atLeast(t.limitWithRoom(highest), limitOf)))}
}

func (t *Tally) byGap(gap Gap, o Outcome) Suggestion {
	return Suggestion{Outcome: o, Gap: gap, Brief: t.count(uint64(gap.Keys)) + " far above the rest", Reason: fmt.Sprintf("the gap between %s and %s separates %s; %s",
		t.Unit.Amount(gap.Low), t.Unit.Of(gap.High), t.count(uint64(gap.Keys)), t.effect(o))}
}

// effect is the second half of a reason.
func (t *Tally) effect(o Outcome) string {
	limit := "a limit of " + t.Unit.Allowed(o.Limit)
	if o.Limit != o.Threshold || t.Unit.Each > 1 {
		limit += fmt.Sprintf(" (threshold %s)", words.Number(o.Threshold))
	}
	if o.Events == 0 {
		return limit + " denies no " + t.noun
	}
	return fmt.Sprintf("%s denies %s of %s", limit, percent(o.EventShare), t.noun)
}

// count is a number of keys in words: "1 address", "5 addresses".
func (t *Tally) count(n uint64) string {
	return words.Plural(n, t.keys.One, t.keys.Many)
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
