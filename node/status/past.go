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
// gap where the wall clock is set right.
func (s *Status) KeepHistory(now time.Time) {
	g := s.from.Current()
	meters := g.Config.Rules.Meters
	all := make([]tuning.Meter, len(meters))
	for i := range meters {
		all[i] = kept(&meters[i])
	}
	due, ok := s.from.History.NextDue(now, all)
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
	proven(g.Tables(), &meters[slices.Index(all, due)], now, add, nil)
	s.from.History.NoteCounts(now, due, &counts)
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
