package node

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/internal/redistest"
)

// What an operator says on one node of a fleet with a key is in force on the others
// without a confirmation, however wide and whatever it refuses. It overrides nothing
// that another node protects.
func TestSignedWaitsForNobody(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"accept", "require"} {
		t.Run(mode, func(t *testing.T) {
			key := filepath.Join(t.TempDir(), "fleet.key")
			if err := os.WriteFile(key, []byte(strings.Repeat("5a", 32)+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			yaml := strings.Replace(fleetOfTwo, "push:", "key_file: "+key+", key_mode: "+mode+", push:", 1)
			a, b := startFleetOf(t, redistest.Start(t, redistest.Options{}), yaml, yaml+"protected: [198.51.100.7]\n")
			b.crowd("198.18.", 250, 4)
			own := a.protected.own() // none on a host with loopback only
			b.eventually("a's signed addresses", func() bool {
				signed, unsigned := b.list.Peers()
				return len(signed) == len(own) && len(unsigned) == 0
			})
			v := a.view()
			record := func(prefix string) edgeguard.Block {
				return edgeguard.Block{Prefix: netip.MustParsePrefix(prefix), Rule: "manual", Since: v.Now(), Until: v.Now().Add(time.Hour)}
			}
			for _, prefix := range []string{"198.18.0.0/16", "198.51.100.0/24", "203.0.0.0/10"} {
				if _, err := v.Block(record(prefix), true); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := v.Allow(record("192.0.0.0/12"), true); err != nil {
				t.Fatal(err)
			}
			for _, addr := range []string{"198.18.0.9", "198.51.100.9", "203.0.113.9"} {
				b.eventually(addr+" is blocked", func() bool { return b.blocked(addr) })
			}
			b.eventually("the allowance is in force", func() bool { return b.allows("192.0.2.9") })
			if b.blocked("198.51.100.7") || !a.blocked("198.51.100.7") {
				t.Errorf("protected on b: blocked there %v, here %v", b.blocked("198.51.100.7"), a.blocked("198.51.100.7"))
			}
			if _, ok := v.Unblock(netip.MustParsePrefix("203.0.0.0/10"), "enough"); !ok {
				t.Fatal("not unblocked")
			}
			b.eventually("it is unblocked", func() bool { return !b.blocked("203.0.113.9") })
			if s := b.quarantine.Stats(); s.Total+s.NotRecorded != 0 {
				t.Errorf("held: %+v", s)
			}
		})
	}
}
