package peers

import (
	"testing"
	"time"
)

// TestNeverOver plays a HAProxy with all that happens to one, and compares with what
// was requested. Without what loses counts in HAProxy itself, nothing is lost. Late heirs have
// one case that is over, in seeds 628 and 819: docs/adr/0043-haproxy.md says which.
func TestNeverOver(t *testing.T) {
	if testing.Short() {
		t.Skip("only computes: the same on every machine")
	}
	all := options{keys: 40, size: 100, room: 100, reloads: true, inheritance: true, restarts: true, colds: true, outages: true, expiry: true, pins: true, crashes: true}
	full, small, alone, late := all, all, all, all
	full.size = 20
	small.room = 15
	alone.inheritance = false
	late.late = true
	for name, opts := range map[string]options{
		"all":                all,
		"a full HAProxy":     full,
		"a full tally":       small,
		"without heirs":      alone,
		"late heirs":         late,
		"reloads alone":      {keys: 20, size: 100, room: 100, reloads: true, inheritance: true},
		"long streams":       {keys: 20, size: 100, room: 10, pins: true, expiry: true},
		"stalls and outages": {keys: 40, size: 100, room: 100, outages: true, restarts: true, pins: true, exact: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			have, want := 0, 0
			for seed := range uint64(runs) {
				w := newWorld(t, seed, opts)
				for i := range 2500 {
					w.step()
					if i%100 == 0 {
						w.check()
					}
				}
				if w.s == nil {
					w.connect()
				}
				w.quiet(time.Minute)
				w.check()
				h, n := w.sums()
				if have, want = have+h, want+n; opts.exact && h != n {
					t.Fatalf("seed %d: %d counted, %d requested", seed, h, n)
				}
			}
			t.Logf("%d of %d counted (%.2f %%)", have, want, 100*float64(have)/float64(want))
		})
	}
}
