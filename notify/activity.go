package notify

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"edgeguard"
	"edgeguard/internal/words"
)

// kindBlocks is the kind of the condition that a rule makes blocks. No alarm has it.
const kindBlocks = "blocks"

// Activity is which rules make blocks now. It takes the same memory however many they
// make.
type Activity struct{ rules map[string]*activity }

type activity struct {
	since, last time.Time
	blocks      int
	first       edgeguard.Block
}

// Add counts a block.
func (a *Activity) Add(now time.Time, b *edgeguard.Block) {
	if a.rules == nil {
		a.rules = make(map[string]*activity)
	}
	rule := b.Rule
	if a.rules[rule] == nil && len(a.rules) >= mostRules {
		rule = otherRule
	}
	r := a.rules[rule]
	if r == nil {
		r = &activity{since: now, first: *b}
		a.rules[rule] = r
	}
	r.last = now
	r.blocks++
}

// Active returns a condition for each rule that made a block within [holdEvent].
func (a *Activity) Active(now time.Time, n *Names) (all []Condition) {
	for rule, r := range a.rules {
		if now.Sub(r.last) >= holdEvent {
			delete(a.rules, rule)
			continue
		}
		all = append(all, Condition{Kind: kindBlocks, About: rule, Since: r.since, Event: true, Text: fmt.Sprintf(
			"%s by %s since %s, such as %s", words.Plural(r.blocks, "block", "blocks"), blockMaker(rule), n.clock(r.since), addressText(r.first.Prefix))})
	}
	slices.SortFunc(all, func(a, b Condition) int { return cmp.Compare(a.About, b.About) })
	return all
}
