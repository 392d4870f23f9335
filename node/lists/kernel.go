package lists

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"edgeguard/admin"
	"edgeguard/admin/call"
	"edgeguard/config"
	"edgeguard/enforce"
	"edgeguard/enforce/nftables"
	"edgeguard/internal/safetext"
	"edgeguard/node/alarm"
)

// What operators change of a node's packet filter while it runs: a trial that ends by itself,
// a pause, and their end. The state is package nftables's.

// kernelEmptying bounds how long an operator waits for the packet filter to be empty.
const kernelEmptying = 20 * time.Second

// kernelDeps is what a filter uses of a node.
type kernelDeps struct {
	Config func() *config.Config // in force
	// List returns the list of the packet filter and its figures; nil where none runs.
	List    func() (*nftables.TrialList, enforce.Stats)
	Refresh func() // has all lists passed on again
	// Now is the node's time, and Epoch makes it wall-clock time.
	Now    func() time.Time
	Epoch  func(time.Time) time.Time
	Peers  func(ports ...uint16) (nftables.SSHPeers, error)
	Alarms *alarm.Tracker
	Log    *slog.Logger
	State  string // the folder; empty for none
}

// KernelFilter is the operators' hold on the packet filter: a admin.KernelOperator of the admin API.
// It is safe for concurrent use.
type KernelFilter struct {
	deps  kernelDeps
	trial *nftables.Trial

	mu sync.Mutex // one change at a time
}

// newKernelFilter returns the packet filter under a trial.
func newKernelFilter(t *nftables.Trial, d kernelDeps) *KernelFilter {
	return &KernelFilter{deps: d, trial: t}
}

// Load pauses the list if the node ended while it was paused, or during a trial.
func (f *KernelFilter) Load() {
	if f.deps.State == "" {
		return
	}
	if why, paused := f.mark().Read(); paused {
		f.trial.Pause(safetext.Strip(cmp.Or(why, "its mark "+f.mark().Path+" has no text")))
	}
}

func (f *KernelFilter) mark() nftables.TrialMark {
	return nftables.TrialMark{Path: filepath.Join(f.deps.State, nftables.TrialMarkName)}
}

// Check notices the end of a trial, and raises the conditions about a trial and a pause.
func (f *KernelFilter) Check(now time.Time) {
	const tries, paused = "trial of the packet filter", "packet filter paused"
	s := f.trial.StatusAt(now)
	if s.State != nftables.Trying && f.deps.Alarms.Ends(alarm.Enforcer, tries) && s.State == nftables.Paused {
		f.deps.Log.Warn("the trial was not confirmed: the packet filter drops nothing")
		f.deps.Refresh() // the kernel's timeouts have emptied it: this makes sure
	}
	list, _ := f.deps.List()
	switch {
	case s.State == nftables.Trying:
		f.deps.Alarms.Begins(now, alarm.Enforcer, tries, fmt.Sprintf(
			"the packet filter is on trial until %s: run `edgeguard enforce confirm` to keep it in force", f.deps.Epoch(s.Until).UTC().Format(time.TimeOnly+"Z")))
	case s.State == nftables.Paused && (list != nil || f.deps.Config().Enforce.Names != nil) && !f.deps.Config().Monitor:
		f.deps.Alarms.Begins(now, alarm.Enforcer, paused, f.idle(list != nil)+" ("+s.Why+"): run `edgeguard enforce resume`, or try it again")
		return
	}
	f.deps.Alarms.Ends(alarm.Enforcer, paused)
}

// idle says what refuses nothing in a pause.
func (f *KernelFilter) idle(kernel bool) string {
	switch {
	case f.deps.Config().Enforce.Names == nil:
		return "the packet filter drops nothing"
	case !kernel:
		return "the folder of names is empty"
	}
	return "the packet filter drops nothing, and the folder of names is empty"
}

// Kernel implements admin.KernelOperator. Without a packet filter it has no table, and says
// how it is with the folder of names.
func (f *KernelFilter) Kernel() (out admin.KernelState, p *call.Problem) {
	list, figures, p := f.list()
	if p != nil {
		return out, p
	}
	now := f.deps.Now()
	s, n := f.trial.StatusAt(now), &config.NFTables{}
	if list != nil {
		n = f.deps.Config().Enforce.NFTables
	}
	out = admin.KernelState{
		Table: n.Table, State: s.State.String(), Left: s.TimeLeft(now).Seconds(), Why: s.Why, DryRun: n.DryRun,
		SparedMore: s.State == nftables.Trying && s.More, Intended: figures.Intended, Installed: figures.Installed, Withheld: figures.Withheld,
	}
	if s.State == nftables.Paused {
		out.Installed = 0 // whatever the runner passed on
	}
	if !s.Until.IsZero() {
		out.Until = f.deps.Epoch(s.Until)
	}
	for _, a := range s.Spared {
		out.Spared = append(out.Spared, a.String())
	}
	if figures.Failing > 0 && figures.LastError != nil {
		out.Error = figures.LastError.Error()
	}
	return out, nil
}

// list returns the list of the packet filter, or why there is none; nil where there is only a
// folder of names.
func (f *KernelFilter) list() (*nftables.TrialList, enforce.Stats, *call.Problem) {
	list, figures := f.deps.List()
	if c := f.deps.Config(); list != nil && c.Enforce.NFTables != nil || list == nil && c.Enforce.NFTables == nil && c.Enforce.Names != nil {
		return list, figures, nil
	}
	return nil, enforce.Stats{}, noFilter()
}

func noFilter() *call.Problem {
	return call.NewProblem(http.StatusNotFound, "", "this node has no packet filter", "set enforce.nftables in the config and reload")
}

// TryKernel implements admin.KernelOperator. The kernel is emptied first, so that from then on
// it has nothing that outlasts the trial.
func (f *KernelFilter) TryKernel(ctx context.Context, lasts time.Duration, spare []netip.Addr) (none admin.KernelState, p *call.Problem) {
	list, p := f.triable()
	if p != nil {
		return none, p
	}
	peers, err := f.deps.Peers(append(slices.Clone(f.deps.Config().Enforce.NFTables.SparePorts), nftables.DefaultSSHPort)...)
	if err != nil && len(spare) == 0 {
		return none, call.NewProblem(http.StatusInternalServerError, "", "the ssh connections to be spared are not known: "+err.Error(), "name your own address with --spare")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.deps.Now()
	before := f.trial.StatusAt(now)
	if err := f.mark().WriteMark(nftables.Unconfirmed + ", and edgeguard restarted"); err != nil {
		return none, call.NewProblem(http.StatusInternalServerError, "", "a restart would not know of the trial: "+err.Error(), "make the state folder writable")
	}
	f.trial.Begin(now.Add(lasts), append(spare, peers.Addrs...), peers.More)
	if err := f.empty(ctx, list); err != nil {
		f.trial.SetStatus(before)
		if before.State == nftables.InForce {
			_ = f.mark().Remove() // where it stays, the next start is paused, and says so
		}
		return none, f.failed(err)
	}
	f.deps.Refresh()
	return f.after(now)
}

// triable returns the list, or why no trial is possible.
func (f *KernelFilter) triable() (*nftables.TrialList, *call.Problem) {
	list, _, p := f.list()
	refuse := func(detail, fix string) (*nftables.TrialList, *call.Problem) {
		return nil, call.NewProblem(http.StatusConflict, "", detail, fix)
	}
	switch cfg := f.deps.Config(); {
	case p != nil:
		return nil, p
	case list == nil:
		return nil, noFilter()
	case cfg.Monitor:
		return refuse("in mode monitor nothing is dropped", "set mode: enforce and reload, with `edgeguard enforce clear` before")
	case cfg.Enforce.NFTables.DryRun:
		return refuse("with dry_run nothing is dropped", "run `edgeguard enforce clear`, set enforce.nftables.dry_run to false, reload, and try again")
	case f.deps.State == "":
		return refuse("without a state folder a restart would not know of the trial", "set state in the config")
	}
	return list, nil
}

// after raises the conditions and returns the state.
func (f *KernelFilter) after(now time.Time) (admin.KernelState, *call.Problem) {
	f.Check(now)
	return f.Kernel()
}

// empty takes everything out of the kernel.
func (f *KernelFilter) empty(ctx context.Context, list *nftables.TrialList) error {
	ctx, cancel := context.WithTimeout(ctx, kernelEmptying)
	defer cancel()
	return list.Empty(ctx, f.deps.Now())
}

func (f *KernelFilter) failed(err error) *call.Problem {
	return call.NewProblem(http.StatusInternalServerError, "", "the packet filter was not emptied: "+err.Error(), "run `edgeguard enforce clear --table "+f.deps.Config().Enforce.NFTables.Table+"` as root")
}

// ConfirmKernel implements admin.KernelOperator.
func (f *KernelFilter) ConfirmKernel() (admin.KernelState, *call.Problem) {
	return f.putInForce(func(s *nftables.TrialStatus) *call.Problem {
		if s.State == nftables.Paused {
			return call.NewProblem(http.StatusConflict, "", "no trial runs: the packet filter is paused ("+s.Why+")", "run `edgeguard enforce try`, or `edgeguard enforce resume`")
		}
		return nil
	})
}

// ResumeKernel implements admin.KernelOperator.
func (f *KernelFilter) ResumeKernel() (admin.KernelState, *call.Problem) {
	return f.putInForce(func(s *nftables.TrialStatus) *call.Problem {
		if s.State == nftables.Trying {
			return call.NewProblem(http.StatusConflict, "", "a trial runs", "run `edgeguard enforce confirm`")
		}
		return nil
	})
}

// putInForce puts the list in force for good, unless refuse says why not.
func (f *KernelFilter) putInForce(refuse func(*nftables.TrialStatus) *call.Problem) (none admin.KernelState, p *call.Problem) {
	if _, _, p := f.list(); p != nil {
		return none, p
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.deps.Now()
	s := f.trial.StatusAt(now)
	if p := refuse(&s); p != nil {
		return none, p
	}
	if s.State != nftables.InForce {
		if err := f.unmark(); err != nil {
			return none, call.NewProblem(http.StatusInternalServerError, "", "a restart would pause the packet filter again: "+err.Error(), "make the state folder writable")
		}
		f.trial.PutInForce()
		f.deps.Refresh()
	}
	return f.after(now)
}

// unmark removes what pauses the list after a restart.
func (f *KernelFilter) unmark() error {
	if f.deps.State == "" {
		return nil
	}
	return f.mark().Remove()
}

// PauseKernel implements admin.KernelOperator. It pauses also where the mark cannot be
// written: then a restart ends the pause.
func (f *KernelFilter) PauseKernel(ctx context.Context, why string) (none admin.KernelState, p *call.Problem) {
	list, _, p := f.list()
	if p != nil {
		return none, p
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.trial.Pause(why)
	if f.deps.State != "" {
		if err := f.mark().WriteMark(why); err != nil {
			f.deps.Log.Error("the packet filter is paused, but not after a restart", "error", err)
		}
	}
	f.deps.Refresh() // the folder of names, and what cannot be emptied now is tried again
	if list != nil {
		if err := f.empty(ctx, list); err != nil {
			return none, f.failed(err)
		}
	}
	return f.after(f.deps.Now())
}
