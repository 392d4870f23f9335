package feed

import (
	"fmt"

	"edgeguard/internal/words"
)

// little is how many of the widest usual prefixes a list may gain or lose, whatever part
// of it that is: a list of single addresses that names its first network is not news. And
// largest is the part of all addresses that one is taken to name by mistake.
const little, largest = 16, 4

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
	return judgeReach(good, next)
}

// judgeReach judges a list by the addresses that its entries name. Their number says
// little of that: 65,536 entries can be all of IPv4, and one more can be as much as all
// others.
func judgeReach(good, next *List) string {
	was, is, both := reachOf(good, nil), reachOf(next, nil), reachOf(good, next)
	gained, lost := both.without(was), both.without(is)
	moved := reach{gained.v4 + lost.v4, gained.v6 + lost.v6}
	switch {
	case is.exceedsPart(largest) && !was.exceedsPart(largest):
		return "names more than a quarter of all addresses on the internet"
	case good.Len() > 0 && much(moved.v4, was.v4, widest.v4):
		return movedBy("addresses of IPv4", was.v4, lost.v4, gained.v4)
	case good.Len() > 0 && much(moved.v6, was.v6, widest.v6):
		return movedBy("/64s of IPv6", was.v6, lost.v6, gained.v6)
	}
	return ""
}

// much reports whether what moved is more than half of what was, and not little.
func much(moved, was, widest uint64) bool { return moved > was/2 && moved > little*widest }

func movedBy(what string, was, lost, gained uint64) string {
	return fmt.Sprintf("has moved by more than half: of %s %s that it names, %s are gone and %s are new", words.Number(was), what, words.Number(lost), words.Number(gained))
}
