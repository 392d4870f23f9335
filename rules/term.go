package rules

import (
	"slices"
	"strings"
)

// manyTexts is from where a map is faster than comparing one by one.
const manyTexts = 8

// term is one field's texts: any of these, if any are given, and none of
// those.
type term struct {
	list []pattern // those first, because they win
	bars int       // how many of the list those are
	open bool      // what is in no list matches: none of these were given
	// asIs says that a value equal to one of the texts is in normal form, and
	// that no other check remains: see matchAsIs.
	asIs bool
	// many holds what has no star, once that is much; the list then holds the
	// rest. The value tells these from those.
	many map[string]bool
}

// newTerm makes a term of patterns, each given as the texts between its stars.
func newTerm(open bool, these, those [][]string) term {
	t := term{open: open}
	var exact int
	for _, parts := range append(those[:len(those):len(those)], these...) {
		t.list = append(t.list, newPattern(parts))
		if len(parts) == 1 {
			exact++
		}
	}
	t.bars = len(those)
	t.asIs = t.bars == 0 && exact <= manyTexts && !slices.ContainsFunc(t.list, isAmbiguous)
	if exact > manyTexts {
		t.spread()
	}
	return t
}

// isAmbiguous reports whether a pattern's text, as a path, would have another
// normal form than itself: "%25" is the normal form of "%2525".
func isAmbiguous(p pattern) bool { return strings.ContainsAny(p.head, "%?#") }

// spread moves what has no star from the list to the map.
func (t *term) spread() {
	t.many = make(map[string]bool)
	var stars []pattern
	bars := t.bars
	for i, p := range t.list {
		isBar := i < bars
		switch {
		case p.tail != nil:
			stars = append(stars, p)
		case isBar:
			t.many[p.head] = false
		default:
			if _, barred := t.many[p.head]; !barred {
				t.many[p.head] = true
			}
		}
		if isBar && p.tail == nil {
			t.bars--
		}
	}
	t.list = stars
}

// What find says of a text.
const (
	notFound int8 = iota
	isThese
	isThose
)

// match reports whether s is one of these, or of all where none were given, and none of
// those.
func (t *term) match(s string) bool {
	return t.find(s) == isThese
}

// matchEither is match for a text of two forms: one of them suffices to be of these or of
// those.
func (t *term) matchEither(s, other string) bool {
	return max(t.find(s), t.find(other)) == isThese
}

// find says which texts s is one of; those win. What is in no list is of these if the term
// is open.
func (t *term) find(s string) (found int8) {
	if t.open {
		found = isThese
	}
	if t.many != nil {
		if these, known := t.many[s]; these {
			found = isThese
		} else if known {
			return isThose
		}
	}
	for i := range t.list {
		if p := &t.list[i]; p.begins(s) && p.ends(s) {
			if i < t.bars {
				return isThose
			}
			return isThese
		}
	}
	return found
}

// matchAsIs reports whether s is one of these, letter for letter, and so in
// normal form, and need not be looked at further. False says nothing.
func (t *term) matchAsIs(s string) bool {
	if !t.asIs {
		return false
	}
	for i := range t.list {
		if p := &t.list[i]; p.tail == nil && p.head == s {
			return true
		}
	}
	return false
}
