package observe

import (
	"fmt"

	"edgeguard/admin"
	"edgeguard/internal/words"
)

// elsewhereLine says what is in force from a source that is not this node.
func elsewhereLine(e *admin.Elsewhere) string {
	who := map[string]string{"nodes_signed": "other nodes, signed", "nodes_unsigned": "other nodes, unsigned"}[e.Source]
	if who == "" {
		who = e.Source + " " + clean(e.Name)
	}
	does := "refuse"
	if e.Kind == "allowance" {
		does = "spare"
	}
	return fmt.Sprintf("%s: %s, of %s IPv4 addresses and %s IPv6 /48, %s %s of the last requests", who,
		words.Plural(e.Records, e.Kind, e.Kind+"s"), words.Number(int(e.IPv4)), words.Number(int(e.IPv6)), does, words.PercentShare(e.Share))
}
