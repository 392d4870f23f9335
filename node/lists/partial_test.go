package lists

import (
	"context"
	"iter"
	"net/netip"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/enforce"
)

// some holds all but prefixes wider than /8.
type some struct{ enforce.Enforcer }

func (some) Traits() enforce.Traits                                    { return enforce.Traits{} }
func (some) Replace(context.Context, time.Time, []enforce.Entry) error { return nil }
func (some) Close() error                                              { return nil }
func (some) Left() int                                                 { return 1 }
func (some) Refuses() func(netip.Prefix) bool {
	return func(p netip.Prefix) bool { return p.Bits() >= 8 }
}

// What a list cannot hold is withheld in its figures, and refused by no list.
func TestPartial(t *testing.T) {
	blocks := func(time.Time) iter.Seq[edgeguard.Block] {
		return func(yield func(edgeguard.Block) bool) {
			for _, p := range prefixes("10.0.0.0/7", "192.0.2.1/32") {
				if !yield(edgeguard.Block{Prefix: p, Until: begin.Add(time.Hour)}) {
					return
				}
			}
		}
	}
	runner, err := enforce.New(enforce.Config{Enforcer: some{}, Blocks: blocks, Now: func() time.Time { return begin }})
	if err != nil {
		t.Fatal(err)
	}
	f := &enforcer{name: "some", list: some{}, runner: runner}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- f.Run(ctx, func() {}) }()
	<-runner.Tried()
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if s := f.figures(); s.Intended != 2 || s.Installed != 1 || s.Withheld != 1 {
		t.Errorf("%+v", s)
	}
	for p, want := range map[string]bool{"10.0.0.0/7": false, "192.0.2.1/32": true} {
		if got := f.refuses(nil)(&edgeguard.Block{Prefix: netip.MustParsePrefix(p), Proxied: true}); got != want {
			t.Errorf("%s is refused: %t", p, got)
		}
	}
}

// dry counts what it would drop.
type dry struct{ enforce.Enforcer }

func (dry) Traits() enforce.Traits { return enforce.Traits{Kernel: true, DryRun: true} }

// A packet filter on a dry run refuses nothing, and says so.
func TestDryRunRefusesNothing(t *testing.T) {
	list := dry{}
	runner, err := enforce.New(enforce.Config{Enforcer: list, Blocks: func(time.Time) iter.Seq[edgeguard.Block] { return func(func(edgeguard.Block) bool) {} }, Now: func() time.Time { return begin }})
	if err != nil {
		t.Fatal(err)
	}
	f := &enforcer{name: "dry", list: list, runner: runner}
	if f.refuses(nil)(&edgeguard.Block{Prefix: netip.MustParsePrefix("192.0.2.1/32")}) || !f.figures().DryRun {
		t.Errorf("%+v", f.figures())
	}
}
