package lists

import (
	"cmp"
	"context"
	"net/netip"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/enforce"
	"edgeguard/enforce/nftables"
	"edgeguard/node/alarm"
)

// enforcer is one list of blocks with its runner: a service.
type enforcer struct {
	key, name string
	part      part
	wanted    ListSources
	list      enforce.Enforcer
	runner    *enforce.Runner
}

func (f *enforcer) Key() string             { return f.key }
func (f *enforcer) Alarm() (string, string) { return alarm.Enforcer, f.name }

// Run passes blocks on until ctx is done. The runner tries again what fails, and
// housekeeping raises the alarm.
func (f *enforcer) Run(ctx context.Context, _ func()) error {
	err := f.runner.Run(ctx) // it always returns nil
	_ = f.list.Close()
	return err
}

// partial is a list that cannot hold every prefix.
type partial interface {
	Left() int                          // how many are not in force there
	Refuses() func(p netip.Prefix) bool // whether all of a prefix is
}

// refuses returns a function that reports whether the list refuses what a block is about; of
// is which blocks it has, nil for all.
func (f *enforcer) refuses(of func(netip.Prefix) bool) func(*edgeguard.Block) bool {
	holds := func(netip.Prefix) bool { return true }
	if p, ok := f.list.(partial); ok {
		holds = p.Refuses()
	}
	kernel := f.kernel()
	dry := f.list.Traits().DryRun
	return func(b *edgeguard.Block) bool {
		return !dry && !(kernel && b.Proxied) && (of == nil || of(b.Prefix)) && holds(b.Prefix)
	}
}

// kernel reports whether the list is kept from what was learned behind a proxy.
func (f *enforcer) kernel() bool { return f.list.Traits().Kernel }

// Report implements service.
func (f *enforcer) Report(s *admin.Stats) { s.Enforcers = append(s.Enforcers, f.figures()) }

// figures returns the enforcer's figures.
func (f *enforcer) figures() admin.Enforcer {
	s := f.runner.Stats()
	out := admin.Enforcer{
		Name: f.name, Intended: s.Intended, Installed: s.Installed, Withheld: s.Withheld,
		Takes: int(f.list.Traits().Takes / time.Second), DryRun: f.list.Traits().DryRun, Updates: s.Updates, Failures: s.Failures, Failing: s.Failing, Success: s.LastSuccess,
	}
	if p, ok := f.list.(partial); ok {
		left := min(p.Left(), out.Installed)
		out.Installed, out.Withheld = out.Installed-left, out.Withheld+left
	}
	if l, ok := f.list.(*keptCloud); ok {
		out.Intended = max(out.Intended-out.Withheld, 0)
		if node, others := l.KeptBy(); others {
			out.Intended, out.Installed, out.Withheld, out.KeptBy = 0, 0, 0, cmp.Or(node, "no node yet")
		}
	}
	if counting, ok := f.list.(interface{ Counts() nftables.Counts }); ok {
		counts := counting.Counts()
		out.Packets = &admin.Packets{Dropped: counts.Dropped, Passed: counts.Passed}
	}
	if s.Failing > 0 && s.LastError != nil {
		out.Error = s.LastError.Error()
	}
	return out
}
