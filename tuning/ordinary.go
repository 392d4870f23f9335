package tuning

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"edgeguard/internal/words"
	"edgeguard/rules"
)

// What an ordinary day of a site counts is learned from the greatest count of each day. A threshold made of it
// has to stay above a sale's evening, and one who attacks for days has a part in it: so the median of the days
// speaks, and a day above the threshold counts as one that reached it. Who attacks on most of the days that are
// kept can raise the threshold fourfold, and then has to attack on most days again.
const (
	// NeededDays is how many days must have been seen before they speak.
	NeededDays = 7
	// ordinaryDays is of how many days the greatest counts are kept: the last ones that were seen.
	ordinaryDays = 28
	// mostDays is of how many days of a log.
	mostDays = 1000
	// ordinaryTimes is how many times an ordinary day a threshold is, and leastLearned its least: fewer
	// addresses come together by a sale or a mail to all customers.
	ordinaryTimes = 4
	leastLearned  = 100
)

// Day is the greatest count of a meter's keys on a day.
type Day struct {
	Number  int64  `json:"day"`     // since 1970, by the wall clock in UTC
	Windows int    `json:"windows"` // how many were looked at
	Most    uint32 `json:"most"`
}

// Ordinary is what an ordinary day of a site counts.
type Ordinary struct {
	// Days is how many days were seen, of the last 28.
	Days int
	// Usual is the median of their greatest counts.
	Usual uint32
	// Threshold is what they speak for. It is 0 before there are [NeededDays], and where it would be
	// over what can be counted.
	Threshold uint32
}

// dayOf returns the number of a day.
func dayOf(at time.Time) int64 { return floor(at.Unix(), int64(24*time.Hour/time.Second)) }

// ordinaryOf returns what days speak for that were seen.
func ordinaryOf(days []Day) (o Ordinary) {
	most := make([]uint32, 0, len(days))
	for _, d := range days {
		most = append(most, d.Most)
	}
	slices.Sort(most)
	if o.Days = len(most); o.Days > 0 {
		o.Usual = most[o.Days/2]
	}
	if o.Days >= NeededDays {
		o.Threshold = LearnedFrom(o.Usual)
	}
	return o
}

// LearnedFrom returns the threshold that an ordinary day speaks for which counts so much; 0 where it would be
// over what can be counted.
func LearnedFrom(usual uint32) uint32 {
	if usual > rules.MaxDistinct/ordinaryTimes {
		return 0
	}
	return max(ordinaryTimes*usual, leastLearned)
}

// NoteDay notes that a key had a count at an instant. A log whose times go far back is bounded.
func (t *Tally) NoteDay(at time.Time, count uint32) {
	day := dayOf(at)
	i, known := slices.BinarySearchFunc(t.Days, day, func(d Day, n int64) int { return cmp.Compare(d.Number, n) })
	if !known {
		if len(t.Days) == mostDays {
			return
		}
		t.Days = slices.Insert(t.Days, i, Day{Number: day})
	}
	t.Days[i].Most = max(t.Days[i].Most, count)
}

// SuggestLearned proposes the threshold that a node would learn from the days of the log, however few.
func (t *Tally) SuggestLearned(limitOf LimitOf) Suggestion {
	if len(t.Days) == 0 {
		return Suggestion{Reason: "nothing was counted, so there is nothing to suggest", Brief: "nothing was counted"}
	}
	first, last := t.Days[0].Number, t.Days[len(t.Days)-1].Number
	var days []Day
	for _, d := range t.Days {
		if last-d.Number < ordinaryDays {
			days = append(days, d)
		}
	}
	for int64(len(days)) < min(last-first+1, ordinaryDays) {
		days = append(days, Day{}) // one on which nothing was counted
	}
	usual := ordinaryOf(days).Usual
	brief := fmt.Sprintf("an ordinary day counts %s", t.Unit.Amount(usual))
	reason := fmt.Sprintf("of %s an ordinary one counts at most %s by one key, and the highest of all %s", words.Plural(uint64(len(days)), "day", "days"), t.Unit.Of(usual), t.Unit.Amount(t.Peaks.Max()))
	threshold := LearnedFrom(usual)
	if threshold == 0 {
		return Suggestion{Brief: brief, Reason: reason + ": too many to tell an attack from"}
	}
	return Suggestion{Outcome: t.Outcome(threshold, limitOf), Brief: brief, Reason: fmt.Sprintf("%s; %s leaves an ordinary day room", reason, words.Number(threshold))}
}

// NoteDay notes the greatest count of a meter's keys in a window that has ended. wall is the time of the wall
// clock. A day is seen if half of its windows were.
func (h *History) NoteDay(wall time.Time, m Meter, most uint32) {
	today := dayOf(wall)
	h.mu.Lock()
	defer h.mu.Unlock()
	days := slices.DeleteFunc(h.days[m], func(d Day) bool { return d.Number > today || d.Number < today && !m.seen(d) })
	if n := len(days); n == 0 || days[n-1].Number != today {
		days = append(days, Day{Number: today})
	}
	days = days[max(0, len(days)-ordinaryDays-1):]
	last := len(days) - 1
	if o := ordinaryOf(days[:last]); o.Threshold > 0 {
		most = min(most, o.Threshold)
	}
	days[last].Most = max(days[last].Most, most)
	days[last].Windows++
	h.putDays(m, days)
	h.changes++
}

// seen reports whether half of a day's windows were looked at.
func (m Meter) seen(d Day) bool { return 2*time.Duration(d.Windows)*m.step() >= Length }

// putDays keeps the days of a meter. One that no rule has any more is kept, as it may come back, unless there
// are too many.
func (h *History) putDays(m Meter, days []Day) {
	if h.days == nil {
		h.days = make(map[Meter][]Day)
	}
	if h.days[m] = days; len(h.days) > MaxMeters {
		maps.DeleteFunc(h.days, func(old Meter, _ []Day) bool { return old != m && h.series[old] == nil })
	}
}

// Ordinary returns what the days speak for that were seen of a meter, without the one that is under way.
func (h *History) Ordinary(wall time.Time, m Meter) Ordinary {
	today := dayOf(wall)
	h.mu.Lock()
	defer h.mu.Unlock()
	var seen []Day
	for _, d := range h.days[m] {
		if d.Number < today && m.seen(d) {
			seen = append(seen, d)
		}
	}
	return ordinaryOf(seen[max(0, len(seen)-ordinaryDays):])
}

// AllDays returns the days of every meter.
func (h *History) AllDays() iter.Seq2[Meter, []Day] {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := make(map[Meter][]Day, len(h.days))
	for m, days := range h.days {
		all[m] = slices.Clone(days)
	}
	return maps.All(all)
}

// RestoreDays puts back what AllDays returned. What cannot be is left out.
func (h *History) RestoreDays(m Meter, days []Day) {
	sorted := slices.IsSortedFunc(days, func(a, b Day) int { return cmp.Compare(a.Number, b.Number) })
	if !sorted || len(days) > ordinaryDays+1 || m.Window < time.Second {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.days) < MaxMeters {
		h.putDays(m, days)
	}
}
