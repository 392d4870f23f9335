package status

import (
	"slices"
	"time"

	"edgeguard/admin"
	"edgeguard/rules"
	"edgeguard/tuning"
)

// KeepHistory looks at the keys of a meter whose window has just ended, if there is
// one, and keeps how their counts are distributed. now is local: a history has no
// gap where the wall clock is set right. Meters by which a threshold is learned go before the others,
// as a history is kept of the first ones alone.
func (s *Status) KeepHistory(now time.Time) {
	g := s.from.Current()
	var learn, all []tuning.Meter
	meters := make(map[tuning.Meter]*rules.Meter)
	for i := range g.Config.Rules.Meters {
		m := &g.Config.Rules.Meters[i]
		if meters[kept(m)] = m; slices.ContainsFunc(m.Rules, func(r int) bool { return g.Config.Rules.Rules[r].Learned }) {
			learn = append(learn, kept(m))
		} else {
			all = append(all, kept(m))
		}
	}
	due, ok := s.from.History.NextDue(now, append(slices.Clone(learn), all...))
	if !ok {
		return
	}
	var counts tuning.Distribution
	add := func(count uint32) bool {
		if count > 0 {
			counts.Add(count)
		}
		return false
	}
	proven(g.Tables(), meters[due], now, add, nil)
	s.from.History.NoteCounts(now, due, &counts)
	if slices.Contains(learn, due) {
		s.from.History.NoteDay(s.from.Clock.Epoch(now), due, meters[due].TopCount(counts.Max()))
	}
}

// learned returns what a rule has learned; nil for one that does not.
func (s *Status) learned(r *rules.Rule, m *rules.Meter) *admin.Learned {
	if !r.Learned {
		return nil
	}
	o := s.from.History.Ordinary(s.Now(), kept(m))
	return &admin.Learned{Rule: r.Name, Days: o.Days, Needed: tuning.NeededDays, Usual: o.Usual, Pending: r.Pending && o.Threshold == 0}
}

// Learned returns the threshold that ordinary days speak for of what a meter counts; 0 for none yet.
func (s *Status) Learned(m *rules.Meter) uint32 {
	return s.from.History.Ordinary(s.Now(), kept(m)).Threshold
}

// kept returns what the history knows a meter by.
func kept(m *rules.Meter) tuning.Meter {
	return tuning.Meter{Fingerprint: m.Fingerprint, Window: m.Window}
}

// Past implements admin.Reader.
func (s *Status) Past(now time.Time, rule string, length time.Duration) (admin.Windows, bool) {
	set := s.from.Current().Config.Rules
	i := slices.IndexFunc(set.Rules, func(r rules.Rule) bool { return r.Name == rule })
	if i < 0 {
		return admin.Windows{}, false
	}
	r := &set.Rules[i]
	windows := admin.Windows{LimitOf: r.Guard.Limit}
	windows.All, windows.Step = s.from.History.Windows(s.from.Clock.Local(now), kept(&set.Meters[r.Meter]), length)
	for i := range windows.All {
		w := &windows.All[i]
		w.From, w.At = s.from.Clock.Epoch(w.From).Round(time.Second), s.from.Clock.Epoch(w.At)
	}
	return windows, true
}
