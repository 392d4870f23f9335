package evidence

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"slices"
)

// marks are different texts, as hashes: as many as any judgement needs.
type marks struct {
	n    uint8
	seen [manyFailing]uint32
}

// seed makes hashes that no author of a log can predict.
var seed = maphash.MakeSeed()

func (m *marks) add(text string) { m.mark(uint32(maphash.String(seed, text))) }

func (m *marks) mark(hash uint32) {
	if int(m.n) < len(m.seen) && !slices.Contains(m.seen[:m.n], hash) {
		m.seen[m.n] = hash
		m.n++
	}
}

// merge adds the texts of other marks.
func (m *marks) merge(other *marks) {
	for _, hash := range other.seen[:other.n] {
		m.mark(hash)
	}
}

// different is how many different texts there were, and no more than manyFailing.
func (m *marks) different() int { return int(m.n) }

// String says how many.
func (m *marks) String() string {
	if m.different() == len(m.seen) {
		return fmt.Sprintf("%d or more", len(m.seen))
	}
	return fmt.Sprint(m.different())
}

// addTexts adds the texts of other slots.
func addTexts(to, from []slot) {
	all := slices.Clone(to)
	for _, s := range from {
		if s.n == 0 {
			continue
		}
		if i := slices.IndexFunc(all, func(t slot) bool { return t.n > 0 && t.text == s.text }); i >= 0 {
			all[i].n, all[i].over = all[i].n+s.n, all[i].over+s.over
			continue
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(x, y slot) int { return cmp.Or(cmp.Compare(y.n, x.n), cmp.Compare(x.text, y.text)) })
	copy(to, all)
}

func sortOften(all []Often) {
	slices.SortFunc(all, func(x, y Often) int { return cmp.Or(cmp.Compare(y.N, x.N), cmp.Compare(x.Text, y.Text)) })
}
