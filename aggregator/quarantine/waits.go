package quarantine

import (
	"cmp"
	"net/netip"
	"slices"

	"edgeguard/blocklist"
)

// Waits returns how many records are held, and at most n of their prefixes, for the
// other nodes: first those that only an operator's confirmation ends, then the
// newest. A flood of records that wait for room does not hide what an operator is
// asked about.
func (q *Quarantine) Waits(n int) (held int, first []netip.Prefix) {
	var best []Held
	q.mu.Lock()
	for _, one := range q.held {
		i, _ := slices.BinarySearchFunc(best, one, urgency)
		if i == n {
			continue
		}
		best = slices.Insert(best, i, one)
		best = best[:min(len(best), n)]
	}
	held = len(q.held)
	q.mu.Unlock()
	for _, one := range best {
		first = append(first, one.Prefix)
	}
	return held, first
}

// Sources returns how many of the blocks and allowances that are held came signed, and how
// many unsigned.
func (q *Quarantine) Sources() map[blocklist.Source]int {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := make(map[blocklist.Source]int)
	for _, one := range q.held {
		if !one.Lifted {
			all[one.source()]++
		}
	}
	return all
}

// urgency compares two held records; that which an operator should see first is less.
func urgency(a, b Held) int {
	return cmp.Or(cmp.Compare(byItself(&a), byItself(&b)), b.At.Compare(a.At), a.Prefix.Compare(b.Prefix))
}

// byItself returns 1 for a record that comes into force without an operator.
func byItself(one *Held) int {
	if one.Why == Pace || one.Why == tooMuch && one.Share == 0 {
		return 1
	}
	return 0
}
