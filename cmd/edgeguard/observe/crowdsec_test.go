package observe

import (
	"bytes"
	"testing"

	"edgeguard/crowdsec"
)

func TestDraw(t *testing.T) {
	var out bytes.Buffer
	drawCrowdSec(&out, nil)
	drawCrowdSec(&out, &crowdsec.Figures{
		Decisions: &crowdsec.Incoming{URL: "http://127.0.0.1:8080", InForce: 12345, Error: "it answers \x1b 403", Skipped: crowdsec.Skipped{Types: 2, NoRoom: 1}},
		Alerts:    &crowdsec.Outgoing{URL: "https://lapi", Sent: 3, Waiting: 1},
	})
	want := `
Decisions of CrowdSec at http://127.0.0.1:8080: 12,345 in force, no answer yet
  not taken: 2 not a ban, 1 more than most
  ! it answers ? 403

Alerts to CrowdSec at https://lapi: 3 sent, 1 waiting, 0 dropped, 0 refused
`
	if out.String() != want {
		t.Errorf("%s\nwant\n%s", out.String(), want)
	}
}
