package feed

import (
	"fmt"

	"edgeguard/internal/words"
)

// Judge returns why a list that was read must await an operator, "" if it need not.
// good is the list that was in force before, nil for none; most is how many entries the
// operator expects at most.
//
// A list that turned into another one is more often a mistake of its publisher, or
// somebody else's list, than news: blocking all that it names, or letting go all that
// it named, is not undone as easily as a confirmation is given.
func Judge(good, next *List, most int) string {
	if good != nil {
		added, gone := good.Changes(next)
		if added+gone == 0 {
			return "" // what is in force already, and was confirmed if it had to be
		}
		if next.Len() > 0 && next.Len() <= most && good.Len() > 0 && 2*(added+gone) > good.Len() {
			return fmt.Sprintf("has moved by more than half: of %s, %s and %s",
				words.Plural(good.Len(), "entry", "entries"), words.Number(gone)+" are gone", words.Number(added)+" are new")
		}
	}
	switch {
	case next.Len() == 0:
		return "is empty"
	case next.Len() > most:
		return fmt.Sprintf("has %s, more than the %s of `most`", words.Plural(next.Len(), "entry", "entries"), words.Number(most))
	}
	return ""
}
