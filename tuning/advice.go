package tuning

import (
	"slices"
	"time"

	"edgeguard/rules"
)

// What a day must have before it speaks for another threshold: a node that has seen less knows too little.
const (
	minSpan = 12 * time.Hour
	minPart = 3 // windows in each of dayParts
	// dayParts have to agree. By halves what a crawler did in some hours came and went as an hour passed.
	dayParts = 4
)

// Advise returns the threshold that kept windows of a meter speak for in place of one whose limit is in force. It is
// false unless each quarter of the time has a gap that separates a few keys from the rest, the suggested limit lies in
// all of these, and that in force on the same side of all, half as much again away. What is counted there are keys in
// windows: a key has one in each.
func Advise(c Config, windows []Window, limit uint32, limitOf LimitOf, people rules.People) (s Suggestion, ok bool) {
	if len(windows) < dayParts*minPart || windows[len(windows)-1].At.Sub(windows[0].At) < minSpan {
		return s, false
	}
	s = sumOf(c, windows).Suggest(limitOf, people)
	under, over := limit < s.Gap.Low, s.Threshold > 0 && limit >= s.Gap.High
	for i := range dayParts {
		part := windows[i*len(windows)/dayParts : (i+1)*len(windows)/dayParts]
		gap := sumOf(c, part).Suggest(limitOf, people).Gap
		inside := gap.Low <= s.Limit && s.Limit < gap.High
		under, over = under && inside && limit < gap.Low, over && inside && limit >= gap.High
	}
	far := 2*uint64(max(limit, s.Limit)) >= 3*uint64(min(limit, s.Limit))
	return s, far && (under || over)
}

// sumOf adds up windows. Keys have no names there.
func sumOf(c Config, windows []Window) *Tally {
	c.Live = true
	t := NewTally(c)
	for i := range windows {
		for b := range windows[i].Counts.Buckets() {
			t.Peaks.AddN(uint32(b.Sum/b.Count), b.Count)
		}
	}
	for _, b := range slices.Backward(slices.Collect(t.Peaks.Buckets())) {
		for range min(b.Count, uint64(t.Top.k-len(t.Top.peaks))) {
			t.Top.Add(Peak{Peak: uint32(b.Sum / b.Count)})
		}
	}
	return t
}
