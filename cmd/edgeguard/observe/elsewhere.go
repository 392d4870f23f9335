package observe

import (
	"fmt"

	"edgeguard/admin"
	"edgeguard/internal/words"
)

// elsewhereLine says what is in force from a source that is not this node.
func elsewhereLine(e *admin.Elsewhere) string {
	does := "refuse"
	if e.Kind == "allowance" {
		does = "spare"
	}
	line := fmt.Sprintf("%s: %s, of %s IPv4 addresses and %s IPv6 /48, %s %s of the last requests", clean(e.Who()),
		words.Plural(e.Records, e.Kind, e.Kind+"s"), words.Number(e.IPv4), words.Number(e.IPv6), does, words.PercentShare(e.Share))
	if e.Held > 0 {
		line += fmt.Sprintf("; %s not in force: edgeguard blocks held", words.Plural(e.Held, "more is", "more are"))
	}
	return line
}
