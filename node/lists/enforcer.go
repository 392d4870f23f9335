package lists

import (
	"context"

	"edgeguard/admin"
	"edgeguard/enforce"
	"edgeguard/enforce/nftables"
	"edgeguard/node/alarm"
)

// enforcer is one list of blocks with its runner: a service.
type enforcer struct {
	key, name string
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

// Report implements service.
func (f *enforcer) Report(s *admin.Stats) { s.Enforcers = append(s.Enforcers, f.figures()) }

// figures returns the enforcer's figures.
func (f *enforcer) figures() admin.Enforcer {
	s := f.runner.Stats()
	out := admin.Enforcer{
		Name: f.name, Intended: s.Intended, Installed: s.Installed, Withheld: s.Withheld,
		Updates: s.Updates, Failures: s.Failures, Failing: s.Failing, Success: s.LastSuccess,
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
