package rules

import (
	"slices"
	"strings"
)

// pattern is a text in which stars stand for any run of characters, also the
// empty one.
type pattern struct {
	head string // what comes before the first star; the whole, without a star
	tail *tail  // nil without a star
}

// tail is a pattern after its first star.
type tail struct {
	middle []string // what must follow, in this order
	end    string   // what must end it
}

// newPattern makes a pattern of the texts between its stars.
func newPattern(parts []string) pattern {
	last := len(parts) - 1
	if last == 0 {
		return pattern{head: parts[0]}
	}
	t := tail{end: parts[last]}
	for _, part := range parts[1:last] {
		if part != "" {
			t.middle = append(t.middle, part)
		}
	}
	return pattern{head: parts[0], tail: &t}
}

// begins reports whether a text begins as the pattern does. It is apart from ends, so that
// both are inlined. Where one byte differs, as nearly always, nothing is called.
func (p *pattern) begins(s string) bool {
	n := len(p.head)
	return n == 0 || len(s) >= n && s[n-1] == p.head[n-1] && s[:n] == p.head
}

// matchesRest reports whether the rest of a text that begins so is of the pattern too.
func (p *pattern) matchesRest(s string) bool {
	if p.tail == nil {
		return len(s) == len(p.head)
	}
	return p.tail.match(s[len(p.head):])
}

// sameAs reports whether two match the same.
func (t *tail) sameAs(other *tail) bool {
	return t.end == other.end && slices.Equal(t.middle, other.middle)
}

// match takes the leftmost place for each part in the middle, which leaves the
// most for the rest: with stars alone, no choice needs to be taken back, so
// that no pattern is slow.
func (t *tail) match(s string) bool {
	if n := len(t.end); n > 0 && (len(s) < n || s[len(s)-1] != t.end[n-1] || !strings.HasSuffix(s, t.end)) {
		return false
	}
	s = s[:len(s)-len(t.end)]
	for _, part := range t.middle {
		at := strings.Index(s, part)
		if at < 0 {
			return false
		}
		s = s[at+len(part):]
	}
	return true
}
