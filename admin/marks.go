package admin

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"edgeguard/admin/watch"
	"edgeguard/eventlog"
)

const (
	// alarmsBefore is how long before a span alarms are looked for that were in force in it.
	alarmsBefore = 24 * time.Hour
	// mostMarks is how many marks, the newest, and alarms a span has.
	mostMarks = 200
)

// AlarmSpan is an alarm and how long it lasted.
type AlarmSpan struct {
	Kind  string    `json:"kind"`
	About string    `json:"about,omitempty"`
	Text  string    `json:"text"` // the last
	Began time.Time `json:"began"`
	// Ended is zero of one that lasts. One about something that happened ends as it begins.
	Ended time.Time `json:"ended,omitzero"`
}

// AlarmsIn returns the alarms that were in force in a span, or about something that happened in
// it, in the order in which they began.
func (v *View) AlarmsIn(ctx context.Context, from, until time.Time) []AlarmSpan {
	type subject struct{ kind, about string }
	all, lasting := []AlarmSpan{}, make(map[subject]int) // places of those that last
	end := func(of subject, at time.Time) {
		if i, lasts := lasting[of]; lasts {
			all[i].Ended = at
			delete(lasting, of)
		}
	}
	q := eventlog.Query{Since: from.Add(-alarmsBefore), Until: until, Kinds: []string{EventAlarm, EventRecovered, EventState}, Sections: []eventlog.Section{eventlog.ByHand}}
	for entry := range v.events.log.Find(ctx, q) {
		var e Event
		if json.Unmarshal(entry.Body, &e) != nil {
			continue // of another version
		}
		of := subject{e.Name, e.About}
		i, lasts := lasting[of]
		switch {
		case e.Kind == EventState && e.Name == StateStarting:
			for of := range lasting {
				end(of, e.Time)
			}
		case e.Kind == EventState:
		case e.Kind == EventRecovered:
			end(of, e.Time)
		case lasts && e.Lasts:
			all[i].Text = e.Text
		default:
			one := AlarmSpan{Kind: e.Name, About: e.About, Text: e.Text, Began: e.Time}
			if e.Lasts {
				lasting[of] = len(all)
			} else {
				one.Ended = e.Time
			}
			all = append(all, one)
		}
	}
	all = slices.DeleteFunc(all, func(a AlarmSpan) bool { return !a.Ended.IsZero() && a.Ended.Before(from) })
	return all[max(0, len(all)-mostMarks):]
}

// thresholdActions are the changes of a rule's threshold.
var thresholdActions = []string{"threshold", "end overlay", "end fleet threshold"}

// marksOf returns what happened in a span: blocks by its minutes, the rest as far as it is kept.
func (v *View) marksOf(ctx context.Context, h *Hours, day []watch.DayMinute) []Mark {
	marks := []Mark{}
	for i := range day {
		if m := &day[i]; m.Blocks >= manyBlocks && !m.Begin.Before(h.Begin) && m.Begin.Before(h.Until) {
			marks = append(marks, Mark{m.Begin, MarkBlocks, fmt.Sprintf("%d blocks were made or changed", m.Blocks)})
		}
	}
	q := eventlog.Query{Since: h.Begin, Until: h.Until, Kinds: []string{EventAlarm, EventChange}, Sections: []eventlog.Section{eventlog.ByHand}}
	for entry := range v.events.log.Find(ctx, q) {
		var e Event
		if json.Unmarshal(entry.Body, &e) != nil || e.Again {
			continue
		}
		if c := e.Change; c == nil {
			marks = append(marks, Mark{e.Time, MarkAlarm, e.Text})
		} else if !v.discreet && c.Result == "ok" && slices.Contains(thresholdActions, c.Action) {
			marks = append(marks, Mark{e.Time, MarkThreshold, fmt.Sprintf("%s of %s by %s: %s", c.Action, c.Target, cmp.Or(c.User, c.Who), c.Detail)})
		}
	}
	slices.SortStableFunc(marks, func(a, b Mark) int { return a.Time.Compare(b.Time) })
	return marks[max(0, len(marks)-mostMarks):]
}
