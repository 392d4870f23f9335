package status

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"edgeguard/admin/watch"
	"edgeguard/aggregator/fleet"
)

const (
	// hour is how many minutes a node says of, and hourRules by how many rules.
	hour      = 60
	hourRules = 8
)

// hourOf returns what a node says to others of the last hour of its day.
func hourOf(day []watch.DayMinute, now time.Time) *fleet.Hour {
	h := &fleet.Hour{Until: now.Unix() / 60, Minutes: make([]*fleet.HourMinute, hour)}
	sums := make(map[string]uint64)
	within := func(m *watch.DayMinute) (at int64, ok bool) {
		at = m.Begin.Unix()/60 - h.Until + hour
		return at, at >= 0 && at < hour
	}
	for i := range day {
		if _, ok := within(&day[i]); ok {
			for name, one := range day[i].Rules {
				sums[name] += one.Denied
			}
		}
	}
	maps.DeleteFunc(sums, func(_ string, n uint64) bool { return n == 0 })
	h.Rules = slices.SortedFunc(maps.Keys(sums), func(a, b string) int { return cmp.Or(cmp.Compare(sums[b], sums[a]), cmp.Compare(a, b)) })
	h.Rules = h.Rules[:min(len(h.Rules), hourRules)]
	for i := range day {
		if at, ok := within(&day[i]); ok {
			said := fleet.HourMinute{day[i].Requests, day[i].Denied}
			for n, rule := range h.Rules {
				if denied := day[i].Rules[rule].Denied; denied > 0 {
					said = append(append(said, make([]uint64, 2+n-len(said))...), denied)
				}
			}
			h.Minutes[at] = &said
		}
	}
	return h
}

// minutesOf returns what another node said of its hour.
func minutesOf(h *fleet.Hour, monitor bool) (day []watch.DayMinute) {
	if h == nil {
		return nil
	}
	for i, said := range h.Minutes {
		if said == nil {
			continue
		}
		m := watch.DayMinute{Begin: time.Unix(60*(h.Until+int64(i-len(h.Minutes))), 0).UTC(), Requests: (*said)[0], Denied: (*said)[1], Monitor: monitor, Rules: make(map[string]watch.RuleCounters)}
		for n, denied := range (*said)[2:] {
			if denied > 0 {
				m.Rules[h.Rules[n]] = watch.RuleCounters{Denied: denied}
			}
		}
		day = append(day, m)
	}
	return day
}
