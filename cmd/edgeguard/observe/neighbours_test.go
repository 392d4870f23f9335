package observe

import (
	"testing"
	"time"

	"edgeguard/admin"
	"edgeguard/notify"
)

// Status says in a line each how CrowdSec's bouncers and the receivers of notifications do.
func TestStatusOfNeighbours(t *testing.T) {
	served := &admin.BouncerFigures{Decisions: 3001, Refused: 1, Bouncers: []admin.BouncerFigure{{Name: "fw", LastPull: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Silent: true}, {Name: "new"}}}
	receivers := []notify.Figures{{Name: "chat", Sent: 5, Error: "it hangs"}, {Name: "team", Sent: 1, Dropped: 2}}
	for got, want := range map[string]string{
		bouncersLine(served):     "1 of 2 keys asked, 1 silent; 3,001 decisions are in force for them; 1 request refused for the key: edgeguard bouncers list",
		receiversLine(receivers): "2 receivers, 1 failing: 6 messages sent, 2 dropped",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
