package observe

import (
	"fmt"
	"io"
	"strings"

	"edgeguard/crowdsec"
	"edgeguard/internal/safetext"
	"edgeguard/internal/words"
)

// drawCrowdSec shows what a node takes from a CrowdSec, and reports to one; nothing for
// nil.
func drawCrowdSec(out io.Writer, c *crowdsec.Figures) {
	if c == nil {
		return
	}
	wrong := func(text string) {
		if text != "" {
			fmt.Fprintf(out, "  ! %s\n", safetext.Strip(text))
		}
	}
	if in := c.Decisions; in != nil {
		last := "no answer yet"
		if !in.Last.IsZero() {
			last = "last answer " + words.Instant(in.Last)
		}
		fmt.Fprintf(out, "\nDecisions of CrowdSec at %s: %s in force, %s\n", safetext.Strip(in.URL), words.Number(in.InForce), last)
		var skipped []string
		for _, one := range []struct {
			n    uint64
			what string
		}{
			{in.Skipped.Types, "not a ban"}, {in.Skipped.Scopes, "not an address or a range"}, {in.Skipped.Ours, "reported by edgeguard"},
			{in.Skipped.Filtered, "excluded by the config"}, {in.Skipped.Invalid, "invalid"}, {in.Skipped.NoRoom, "more than most"},
		} {
			if one.n > 0 {
				skipped = append(skipped, words.Number(one.n)+" "+one.what)
			}
		}
		if skipped != nil {
			fmt.Fprintf(out, "  not taken: %s\n", strings.Join(skipped, ", "))
		}
		wrong(in.Error)
	}
	if to := c.Alerts; to != nil {
		fmt.Fprintf(out, "\nAlerts to CrowdSec at %s: %s sent, %s waiting, %s dropped, %s refused\n",
			safetext.Strip(to.URL), words.Number(to.Sent), words.Number(to.Waiting), words.Number(to.Dropped), words.Number(to.Refused))
		wrong(to.Error)
	}
}
