package blocks

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"edgeguard/admin"
)

// What people see of the feeds: why entries are refused, what awaits confirmation, and no
// control character of an error.
func TestPrint(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	all := admin.Imports{Blocks: 1234, Most: 262144, Feeds: []admin.ImportFeed{
		{Name: "crowdsec", Kind: "crowdsec", State: admin.ImportOK, InForce: 1000, Refused: admin.ImportRefusals{Allowed: 2, NoRoom: 1}},
		{Name: "drop", Kind: "blocklist", State: admin.ImportWaiting, InForce: 234, Good: now.Add(-90 * time.Minute), Next: now.Add(30 * time.Minute), Error: "404\x1b[31m", Awaits: &admin.ImportPending{Why: "it is empty"}},
	}}
	var out bytes.Buffer
	printImports(&out, false, &all, now)
	for _, want := range []string{"2 allowed, 1 no room", "1h30m ago", "in 30m", "drop awaits confirmation: it is empty (0 entries): edgeguard blocklists confirm drop", "1,234 of at most 262,144 entries", "404?[31m"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	out.Reset()
	printImports(&out, false, &admin.Imports{}, now)
	if out.String() != "no list is imported\n" {
		t.Error(out.String())
	}
}
