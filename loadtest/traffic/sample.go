package traffic

import (
	"bufio"
	"cmp"
	"io"
	"math/rand/v2"
	"slices"
)

// sampleSeed makes the shipped file. Another seed gives another hour with the
// same cast.
const sampleSeed = 1

// Sample writes the sample attack, one hour of a small shop's access log in
// the combined format: about 150 visitors, a crawler, an uptime monitor, a
// scraper, a password guesser, a prober, and a slow guesser who stays under
// every limit. All addresses are of the documentation ranges (RFC 5737,
// RFC 3849). The lines are in order of time.
func Sample(w io.Writer) error {
	s := &site{rng: rand.New(rand.NewPCG(sampleSeed, 0))}
	s.people()
	s.robots()
	s.attackers()
	slices.SortStableFunc(s.lines, func(a, b line) int { return cmp.Compare(a.at, b.at) })
	out := bufio.NewWriter(w)
	var buf []byte
	for i := range s.lines {
		buf = s.lines[i].append(buf[:0])
		if _, err := out.Write(buf); err != nil {
			return err
		}
	}
	return out.Flush()
}
