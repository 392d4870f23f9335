package observe

import (
	"fmt"

	"edgeguard/admin"
	"edgeguard/internal/words"
	"edgeguard/notify"
)

// bouncersLine says how CrowdSec's bouncers are served.
func bouncersLine(b *admin.BouncerFigures) string {
	asked, silent := 0, 0
	for _, one := range b.Bouncers {
		if !one.LastPull.IsZero() {
			asked++
		}
		if one.Silent {
			silent++
		}
	}
	return fmt.Sprintf("%s of %s asked, %s silent; %s in force for them; %s refused for the key: edgeguard bouncers list", words.Number(asked), words.Plural(len(b.Bouncers), "key", "keys"),
		words.Number(silent), words.Plural(b.Decisions, "decision is", "decisions are"), words.Plural(b.Refused, "request", "requests"))
}

// receiversLine says what receivers of notifications accepted.
func receiversLine(all []notify.Figures) string {
	failing, sent, dropped := 0, uint64(0), uint64(0)
	for _, n := range all {
		if sent, dropped = sent+n.Sent, dropped+n.Dropped; n.Error != "" {
			failing++
		}
	}
	return fmt.Sprintf("%s, %s failing: %s sent, %s dropped", words.Plural(len(all), "receiver", "receivers"), words.Number(failing),
		words.Plural(sent, "message", "messages"), words.Number(dropped))
}
