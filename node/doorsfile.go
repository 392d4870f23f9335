package node

import (
	"encoding/json"
	"net/netip"
	"time"

	"edgeguard/clockguard"
	"edgeguard/frontdoor"
	"edgeguard/node/pipeline"
	"edgeguard/snapshot"
)

// doorsFileName is the file of when each source last showed a client of the Internet, and of the
// networks that operators named as clients', in the folder of the state.
const doorsFileName = "node.doors"

// publicNote is when a source last showed a client of the Internet, by the clock of the wall.
type publicNote struct {
	Source string    `json:"source"`
	Public time.Time `json:"public"`
}

// clientNote is a network that an operator named as clients'.
type clientNote struct {
	Client netip.Prefix `json:"client"`
	Since  time.Time    `json:"since"`
}

// doorsSide returns the file in a folder of what a pipeline's sources have shown. It is written
// when an hour has passed for one of them (a day is what counts), and when operators name others.
func doorsSide(folder string, p *pipeline.Pipeline, clock *clockguard.Clock) snapshot.SideFile[*pipeline.Pipeline] {
	return snapshot.SideFile[*pipeline.Pipeline]{
		Path: inState(folder, doorsFileName), Kept: p,
		Changes: func() uint64 {
			_, changes := p.Doors().Clients()
			for _, at := range p.Public() {
				changes += uint64(at.Unix() / 3600)
			}
			return changes
		},
		Write: func(w *snapshot.Writer, _ time.Time) {
			note := func(one any) {
				if text, err := json.Marshal(one); err == nil && len(text) <= snapshot.MaxNote {
					w.WriteNote(text)
				}
			}
			for source, at := range p.Public() {
				note(publicNote{source, clock.Epoch(at)})
			}
			named, _ := p.Doors().Clients()
			for _, c := range named {
				note(clientNote{c.Prefix, c.Since})
			}
		},
		Restore: func(now time.Time, load func(snapshot.Sink) error) error {
			return load(snapshot.Sink{Note: func(text []byte) {
				var one struct {
					publicNote
					clientNote
				}
				if json.Unmarshal(text, &one) != nil {
					return // a later version may have others
				}
				if one.Client.IsValid() {
					p.Doors().AddClient(frontdoor.Client{Prefix: one.Client, Since: one.Since})
				}
				if at := clock.Local(one.Public); now.Sub(at) < 24*time.Hour {
					p.RestorePublic(one.Source, at)
				}
			}})
		},
	}
}
