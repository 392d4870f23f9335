package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"edgeguard/snapshot"
	"edgeguard/tuning"
)

// HistoryFileName is the file of the history of counts in the folder of the state.
const HistoryFileName = "node.history"

// daysNote is what a meter counted on the last days.
type daysNote struct {
	tuning.Meter
	Days []tuning.Day
}

// historySide returns the file in a folder of a history. A distribution in it that is
// none is left out when it is loaded, and the error says so.
func historySide(folder string, kept *tuning.History) snapshot.SideFile[*tuning.History] {
	path := inState(folder, HistoryFileName)
	return snapshot.SideFile[*tuning.History]{
		Path: path, Kept: kept, Changes: kept.Changes,
		Write: func(w *snapshot.Writer, _ time.Time) {
			for m, days := range kept.AllDays() {
				if text, err := json.Marshal(daysNote{m, days}); err == nil && len(text) <= snapshot.MaxNote {
					w.WriteNote(text)
				}
			}
			for m, one := range kept.AllWindows() {
				w.Distribution(snapshot.Distribution{Fingerprint: m.Fingerprint, Window: m.Window, At: one.At, Form: one.Counts})
			}
		},
		Restore: func(now time.Time, load func(snapshot.Sink) error) error {
			var wrong error
			err := load(snapshot.Sink{Note: func(text []byte) {
				var one daysNote
				if json.Unmarshal(text, &one) == nil { // a later version may have others
					kept.RestoreDays(one.Meter, one.Days)
				}
			}, Distribution: func(one snapshot.Distribution) {
				if err := kept.Restore(now, tuning.Meter{Fingerprint: one.Fingerprint, Window: one.Window}, one.At, one.Form); err != nil {
					wrong = fmt.Errorf("history %s: of %v: %w; it is left out", path, one.At, err)
				}
			}})
			return errors.Join(err, wrong)
		},
	}
}
