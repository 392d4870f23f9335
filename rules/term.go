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
	// extensions holds what is a star and an extension, such as "*.css", by the word that
	// the extension is, once that is much. The list then holds the rest.
	extensions   map[uint64]bool
	these, those [][]string // as they were given
}

// newTerm makes a term of patterns, each given as the texts between its stars.
func newTerm(open bool, these, those [][]string) term {
	t := term{these: these, those: those, open: open}
	var exact, extensions int
	for _, parts := range append(those[:len(those):len(those)], these...) {
		p := newPattern(parts)
		t.list = append(t.list, p)
		if p.tail == nil {
			exact++
		} else if p.isExtension() {
			extensions++
		}
	}
	t.bars = len(those)
	t.asIs = t.bars == 0 && exact <= manyTexts && !slices.ContainsFunc(t.list, isAmbiguous)
	if exact > manyTexts {
		t.many = spread(&t, func(p pattern) (text string, ok bool) { return p.head, p.tail == nil })
	}
	if extensions > manyTexts {
		t.extensions = spread(&t, func(p pattern) (word uint64, ok bool) {
			if !p.isExtension() {
				return 0, false
			}
			return extension(p.tail.end)
		})
	}
	return t
}

// isAmbiguous reports whether a pattern's text, as a path, would have another
// normal form than itself: "%25" is the normal form of "%2525".
func isAmbiguous(p pattern) bool { return strings.ContainsAny(p.head, "%?#") }

// spread moves patterns from the list to a map: those that have a key in it.
func spread[K comparable](t *term, key func(pattern) (K, bool)) map[K]bool {
	moved := make(map[K]bool)
	var rest []pattern
	bars := t.bars
	for i, p := range t.list {
		isBar := i < bars
		k, moves := key(p)
		_, known := moved[k]
		switch {
		case !moves:
			rest = append(rest, p)
			continue
		case !known: // those come first, and win
			moved[k] = !isBar
		}
		if isBar {
			t.bars--
		}
	}
	t.list = rest
	return moved
}

// longestExtension is how many bytes fit in a word beside their number.
const longestExtension = 7

// isExtension reports whether a pattern is a star and an extension that fits in a word. It
// has no second dot, so that of a text only what follows the last need be looked at.
func (p *pattern) isExtension() bool {
	return p.tail != nil && p.head == "" && len(p.tail.middle) == 0 && len(p.tail.end) <= longestExtension &&
		strings.LastIndexByte(p.tail.end, '.') == 0
}

// extension returns the last dot of a text and what follows it as a word, if that fits in one.
// It tells ".a" from ".a\x00" by the length.
func extension(s string) (word uint64, ok bool) {
	for i := len(s) - 1; i >= max(0, len(s)-longestExtension); i-- {
		if s[i] == '.' {
			return beginning(s[i:]) | uint64(len(s)-i)<<56, true
		}
	}
	return 0, false
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
	return t.findText(s) == isThese
}

// matchEither compares a text that has two forms: it matches if one of them does.
func (t *term) matchEither(s, other string) bool {
	return max(t.findText(s), t.findText(other)) == isThese
}

// findText says which texts s is one of; those win. What is in no list is of these if the term
// is open.
func (t *term) findText(s string) (found int8) {
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
	if t.extensions != nil {
		if word, ok := extension(s); ok {
			if these, known := t.extensions[word]; these {
				found = isThese
			} else if known {
				return isThose
			}
		}
	}
	list := t.list
	if found == isThese {
		list = list[:t.bars] // nothing else is left to be said
	}
	for i := range list {
		if p := &list[i]; p.begins(s) && p.matchesRest(s) {
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
