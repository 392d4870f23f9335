package status

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"edgeguard/admin/watch"
	"edgeguard/aggregator"
	"edgeguard/aggregator/fleet"
)

// spanRules is by how many rules a node says what it refused.
const spanRules = 8

// spansOf returns what a node says to others of spans of its day.
func spansOf(day []watch.DayMinute, now time.Time, asked []aggregator.Span) (all []fleet.SpanFigures) {
	for _, span := range asked {
		all = append(all, spanOf(day, now, span))
	}
	return all
}

func spanOf(day []watch.DayMinute, now time.Time, span aggregator.Span) fleet.SpanFigures {
	step := int64(span.Step)
	f := fleet.SpanFigures{Span: span, End: span.Until, Steps: make([]*fleet.StepFigures, span.Length)}
	if f.End == 0 {
		f.End = (now.Unix()/60 + step - 1) / step
	}
	sums, sumOf := make([]watch.DayMinute, span.Length), make(map[string]uint64)
	for i := range day {
		m := &day[i]
		at := m.Begin.Unix()/60/step - f.End + int64(span.Length)
		if at < 0 || at >= int64(span.Length) {
			continue
		}
		sum := &sums[at]
		sum.Measured, sum.Requests, sum.Denied = sum.Measured+1, sum.Requests+m.Requests, sum.Denied+m.Denied
		for name, one := range m.Rules {
			if sum.Rules == nil {
				sum.Rules = make(map[string]watch.RuleCounters)
			}
			sum.Rules[name] = watch.RuleCounters{Denied: sum.Rules[name].Denied + one.Denied}
			sumOf[name] += one.Denied
		}
	}
	maps.DeleteFunc(sumOf, func(_ string, n uint64) bool { return n == 0 })
	f.Rules = slices.SortedFunc(maps.Keys(sumOf), func(a, b string) int { return cmp.Or(cmp.Compare(sumOf[b], sumOf[a]), cmp.Compare(a, b)) })
	f.Rules = f.Rules[:min(len(f.Rules), spanRules)]
	for at := range sums {
		if sum := &sums[at]; sum.Measured > 0 {
			said := fleet.StepFigures{uint64(sum.Measured), sum.Requests, sum.Denied}
			for n, rule := range f.Rules {
				if denied := sum.Rules[rule].Denied; denied > 0 {
					said = append(append(said, make([]uint64, 3+n-len(said))...), denied)
				}
			}
			f.Steps[at] = &said
		}
	}
	return f
}

// minutesOf returns what another node said of spans.
func minutesOf(all []fleet.SpanFigures, monitor bool) map[watch.Span][]watch.DayMinute {
	spans := make(map[watch.Span][]watch.DayMinute, len(all))
	for i := range all {
		f := &all[i]
		days := make([]watch.DayMinute, 0, len(f.Steps))
		for at, said := range f.Steps {
			if said == nil {
				continue
			}
			begin := time.Unix(60*int64(f.Step)*(f.End+int64(at-len(f.Steps))), 0).UTC()
			m := watch.DayMinute{Begin: begin, Measured: int((*said)[0]), Requests: (*said)[1], Denied: (*said)[2], Monitor: monitor, Rules: make(map[string]watch.RuleCounters)}
			for n, denied := range (*said)[3:] {
				if denied > 0 {
					m.Rules[f.Rules[n]] = watch.RuleCounters{Denied: denied}
				}
			}
			days = append(days, m)
		}
		spans[watch.Span(f.Span)] = days
	}
	return spans
}
