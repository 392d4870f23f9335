package node

import (
	"encoding/json"
	"time"

	"edgeguard/admin/watch"
	"edgeguard/snapshot"
)

// dayFileName is the file of what the node did in each minute of the last day.
const dayFileName = "node.day"

// rulesOfNote is how many rules of a minute one note has, so that it stays short; the rest
// follow in notes of the same minute.
const rulesOfNote = 16

// daySide returns the file in a folder of the minutes of a day.
func daySide(folder string, kept *watch.Rates) snapshot.SideFile[*watch.Rates] {
	return snapshot.SideFile[*watch.Rates]{
		Path: inState(folder, dayFileName), Kept: kept, Changes: kept.Changes,
		Write: func(w *snapshot.Writer, _ time.Time) {
			for _, m := range kept.KeptDay() {
				rules := m.Rules
				m.Rules = make(map[string]watch.RuleCounters)
				for name, one := range rules {
					if m.Rules[name] = one; len(m.Rules) == rulesOfNote {
						writeMinute(w, m)
						m = watch.DayMinute{Begin: m.Begin, Monitor: m.Monitor, Rules: make(map[string]watch.RuleCounters)}
					}
				}
				writeMinute(w, m)
			}
		},
		Restore: func(_ time.Time, load func(snapshot.Sink) error) error {
			return load(snapshot.Sink{Note: func(text []byte) {
				var m watch.DayMinute
				if json.Unmarshal(text, &m) == nil { // a later version may have others
					kept.RestoreMinute(m)
				}
			}})
		},
	}
}

// writeMinute writes a note of a minute.
func writeMinute(w *snapshot.Writer, m watch.DayMinute) {
	if text, err := json.Marshal(m); err == nil && len(text) <= snapshot.MaxNote {
		w.WriteNote(text)
	}
}
