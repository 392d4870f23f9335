// Package nearest finds what somebody meant who made a slip of the pen.
package nearest

// Name returns the name that is a slip away from the one written: at most a
// third of its letters, of which a swap of neighbours is one.
func Name(written string, names []string) (string, bool) {
	const longest = 32
	if len(written) > longest {
		return "", false
	}
	best, bestDistance := "", max(1, len(written)/3)+1
	for _, name := range names {
		if d := distance(written, name); d < bestDistance {
			best, bestDistance = name, d
		}
	}
	return best, best != ""
}

// distance is the optimal string alignment distance: how many letters must be
// put in, left out, changed or swapped with their neighbour.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
