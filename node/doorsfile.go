package node

import (
	"encoding/json"
	"time"

	"edgeguard/clockguard"
	"edgeguard/node/pipeline"
	"edgeguard/snapshot"
)

// doorsFileName is the file of when each source last showed a client of the Internet, in the folder
// of the state.
const doorsFileName = "node.doors"

// publicNote is when a source last showed a client of the Internet, by the clock of the wall.
type publicNote struct {
	Source string    `json:"source"`
	Public time.Time `json:"public"`
}

// doorsSide returns the file in a folder of what a pipeline's sources have shown. It is written
// when an hour has passed for one of them: a day is what counts.
func doorsSide(folder string, p *pipeline.Pipeline, clock *clockguard.Clock) snapshot.SideFile[*pipeline.Pipeline] {
	return snapshot.SideFile[*pipeline.Pipeline]{
		Path: inState(folder, doorsFileName), Kept: p,
		Changes: func() (hours uint64) {
			for _, at := range p.Public() {
				hours += uint64(at.Unix() / 3600)
			}
			return hours
		},
		Write: func(w *snapshot.Writer, _ time.Time) {
			for source, at := range p.Public() {
				if text, err := json.Marshal(publicNote{source, clock.Epoch(at)}); err == nil && len(text) <= snapshot.MaxNote {
					w.Note(text)
				}
			}
		},
		Restore: func(now time.Time, load func(snapshot.Sink) error) error {
			return load(snapshot.Sink{Note: func(text []byte) {
				var one publicNote
				if json.Unmarshal(text, &one) != nil {
					return // a later version may have others
				}
				if at := clock.Local(one.Public); now.Sub(at) < 24*time.Hour {
					p.RestorePublic(one.Source, at)
				}
			}})
		},
	}
}
