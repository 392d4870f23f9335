package evidence

import (
	"cmp"
	"hash/maphash"
	"math"
	"math/bits"
	"slices"
)

// marks estimates how many different texts were added, by linear counting (Whang
// and others, 1990): each sets one of 64 bits.
type marks uint64

// seed makes hashes that no author of a log can predict.
var seed = maphash.MakeSeed()

func (m *marks) add(text string) { *m |= 1 << (maphash.String(seed, text) % 64) }

// about returns how many there were; at most 266.
func (m marks) about() int {
	empty := 64 - bits.OnesCount64(uint64(m))
	return int(math.Round(64 * math.Log(64/math.Max(float64(empty), 1))))
}

// join adds the texts of other slots.
func join(to, from []slot) {
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
