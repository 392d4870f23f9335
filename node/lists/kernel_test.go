package lists

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/admin/call"
	"edgeguard/config"
	"edgeguard/enforce"
	"edgeguard/enforce/nftables"
	"edgeguard/node/alarm"
)

var (
	kernelStart = time.Unix(1_800_000_000, 0)
	peer        = netip.MustParseAddr("203.0.113.7")
	second      = netip.MustParseAddr("203.0.113.8")
)

// packets is the packet filter: what is in it, and for how long from the call on.
type packets struct {
	elements map[netip.Prefix]time.Duration
	spared   []enforce.Entry
	err      error
}

func (*packets) Traits() enforce.Traits        { return enforce.Traits{Kernel: true} }
func (*packets) Close() error                  { return nil }
func (*packets) Watch(context.Context, func()) {}
func (*packets) Counts() nftables.Counts       { return nftables.Counts{} }

func (k *packets) Spare(_ context.Context, _ time.Time, spared []enforce.Entry) error {
	k.spared = spared
	return k.err
}

func (k *packets) Replace(ctx context.Context, now time.Time, entries []enforce.Entry) error {
	if k.err == nil {
		k.elements = make(map[netip.Prefix]time.Duration)
	}
	return k.Apply(ctx, now, entries, nil)
}

func (k *packets) Apply(_ context.Context, now time.Time, add []enforce.Entry, _ []netip.Prefix) error {
	for _, e := range add {
		k.elements[e.Prefix] = e.Until.Sub(now)
	}
	return k.err
}

// bench is a node of which only the packet filter is there. It has one block, of an
// hour.
type bench struct {
	*KernelFilter
	t      *testing.T
	now    time.Time
	config *config.Config
	kernel *packets
	list   *nftables.TrialList
	deps   kernelDeps
	raised []edgeguard.Alarm
	alarms *alarm.Tracker
	noPeer error // why no peers are found
}

var block = enforce.Entry{Prefix: netip.MustParsePrefix("192.0.2.1/32"), Until: kernelStart.Add(time.Hour)}

func newBench(t *testing.T) *bench {
	b := &bench{t: t, now: kernelStart, config: new(config.Config), kernel: new(packets)}
	b.config.Enforce.NFTables = &config.NFTables{Table: "edge", SparePorts: []uint16{2222}}
	b.alarms = alarm.New(func(a edgeguard.Alarm) { b.raised = append(b.raised, a) }, func(string, string) {})
	b.deps = kernelDeps{
		Config: func() *config.Config { return b.config }, Refresh: b.pass,
		List: func() (*nftables.TrialList, enforce.Stats) { return b.list, enforce.Stats{Intended: 1, Installed: 1} },
		Now:  func() time.Time { return b.now }, Epoch: func(t time.Time) time.Time { return t.Add(time.Hour) },
		Peers: func(ports ...uint16) (nftables.SSHPeers, error) {
			if !slices.Equal(ports, []uint16{2222, 22}) {
				t.Errorf("peers of %v", ports)
			}
			if b.noPeer != nil {
				return nftables.SSHPeers{}, b.noPeer
			}
			return nftables.SSHPeers{Addrs: []netip.Addr{peer}}, nil
		},
		Alarms: b.alarms, Log: slog.New(slog.DiscardHandler), State: t.TempDir(),
	}
	b.start()
	return b
}

// start starts the node, again.
func (b *bench) start() {
	state := new(nftables.Trial)
	b.list = nftables.NewTrialList(b.kernel, state)
	b.KernelFilter = newKernelFilter(state, b.deps)
	b.Load()
	b.pass()
}

// pass passes the list on, as the runner does.
func (b *bench) pass() { _ = b.list.Replace(context.Background(), b.now, []enforce.Entry{block}) }

// later is the node after a time: the runner has run, and housekeeping.
func (b *bench) later(d time.Duration) {
	b.now = b.now.Add(d)
	b.pass()
	b.Check(b.now)
}

// is fails unless the filter is in a state, and the kernel drops the block for so long.
func (b *bench) is(when, state string, lasts time.Duration) {
	b.t.Helper()
	s, p := b.Kernel()
	if got := b.kernel.elements[block.Prefix]; p != nil || s.State != state || got != lasts {
		b.t.Errorf("%s: %+v, %v, and the kernel drops for %v; want %s and %v", when, s, p, got, state, lasts)
	}
}

// lasting are the conditions of this package.
func (b *bench) lasting() (texts []string) {
	for _, a := range b.alarms.Lasting() {
		texts = append(texts, a.Text)
	}
	return texts
}

// condition fails unless exactly one condition lasts, with a text, or none where that is
// empty.
func (b *bench) condition(when, text string) {
	b.t.Helper()
	all := b.lasting()
	if text == "" && len(all) == 0 || len(all) == 1 && text != "" && strings.Contains(all[0], text) {
		return
	}
	b.t.Errorf("%s: conditions %q, want %q", when, all, text)
}

func (b *bench) try(lasts time.Duration) {
	b.t.Helper()
	if _, p := b.TryKernel(b.t.Context(), lasts, nil); p != nil {
		b.t.Fatal(p)
	}
}

// A trial that is not confirmed ends, and the kernel drops nothing until somebody
// resumes it, over a restart too.
func TestNotConfirmed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.is("at first", "in force", time.Hour)
	b.condition("at first", "")
	b.try(5 * time.Minute)
	b.is("on trial", "trial", 5*time.Minute)
	if len(b.kernel.spared) != 1 || b.kernel.spared[0].Prefix.Addr() != peer {
		t.Errorf("spared: %v", b.kernel.spared)
	}
	b.condition("on trial", "run `edgeguard enforce confirm`")
	b.later(4 * time.Minute)
	b.is("later", "trial", time.Minute)
	b.later(time.Minute)
	b.is("at its end", "paused", 0)
	b.condition("at its end", "run `edgeguard enforce resume`")
	if _, p := b.ConfirmKernel(); p == nil || p.Status != http.StatusConflict {
		t.Errorf("confirmed too late: %v", p)
	}
	b.start()
	b.later(time.Hour / 4)
	b.is("after a restart", "paused", 0)
	if _, p := b.ResumeKernel(); p != nil {
		t.Fatal(p)
	}
	b.is("resumed", "in force", time.Hour-20*time.Minute)
	b.condition("resumed", "")
	b.start()
	b.is("after another restart", "in force", time.Hour-20*time.Minute)
}

// A confirmed trial stays in force, also after a restart.
func TestConfirmed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.try(time.Minute)
	b.later(59 * time.Second)
	if _, p := b.ConfirmKernel(); p != nil {
		t.Fatal(p)
	}
	b.later(time.Second)
	b.is("confirmed", "in force", 59*time.Minute)
	b.condition("confirmed", "")
	if len(b.kernel.spared) > 0 {
		t.Errorf("spared still: %v", b.kernel.spared)
	}
	b.start()
	b.is("after a restart", "in force", 59*time.Minute)
	if _, p := b.ConfirmKernel(); p != nil {
		t.Errorf("confirmed twice: %v", p)
	}
}

// However the node ends during a trial, it starts paused: what it had installed was
// bounded by the trial.
func TestRestartEndsTrial(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.try(time.Minute)
	b.start()
	b.Check(b.now)
	b.is("started again", "paused", 0)
	b.condition("started again", "a trial was not confirmed, and edgeguard restarted")
	b.try(time.Minute)
	b.is("on trial again", "trial", time.Minute)
	if _, p := b.ResumeKernel(); p == nil || p.Status != http.StatusConflict {
		t.Errorf("resumed during a trial: %v", p)
	}
}

// A pause empties the kernel, and a mark that nobody can read pauses, too.
func TestPause(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if s, p := b.PauseKernel(t.Context(), "cleared by an operator"); p != nil || s.State != "paused" {
		t.Errorf("%+v, %v", s, p)
	}
	b.later(time.Minute)
	b.is("paused", "paused", 0)
	if s, _ := b.Kernel(); s.Installed != 0 || s.Intended != 1 {
		t.Errorf("paused: %+v", s)
	}
	b.config.Monitor = true
	b.Check(b.now)
	b.condition("in mode monitor", "")
	b.config.Monitor = false
	if err := os.WriteFile(filepath.Join(b.deps.State, nftables.TrialMarkName), []byte("\x1b[2J\xff\n"+strings.Repeat("x", 9999)), 0o644); err != nil {
		t.Fatal(err)
	}
	b.start()
	b.is("with a damaged mark", "paused", 0)
	if s, _ := b.Kernel(); strings.ContainsAny(s.Why, "\x1b\n") || len(s.Why) > 1000 {
		t.Errorf("why: %q", s.Why)
	}
}

// A trial that cannot begin leaves all as it was; none begins that would do nothing, or
// of which a restart would not know.
func TestNoTrial(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	refused := func(when string, status int) {
		t.Helper()
		if _, p := b.TryKernel(t.Context(), time.Minute, nil); p == nil || p.Status != status || p.Fix == "" {
			t.Errorf("%s: %+v, want %d", when, p, status)
		}
	}
	b.kernel.err = errors.New("the kernel refuses")
	refused("the kernel refuses", http.StatusInternalServerError)
	b.kernel.err = nil
	b.is("the kernel refused", "in force", time.Hour)
	b.start()
	b.is("the kernel refused, and a restart", "in force", time.Hour)
	b.config.Monitor = true
	refused("mode monitor", http.StatusConflict)
	b.config.Monitor, b.config.Enforce.NFTables.DryRun = false, true
	refused("dry_run", http.StatusConflict)
	b.config.Enforce.NFTables.DryRun = false
	b.noPeer = errors.New("no /proc")
	refused("nobody would be spared", http.StatusInternalServerError)
	if _, p := b.TryKernel(t.Context(), time.Minute, []netip.Addr{second}); p != nil || len(b.kernel.spared) != 1 {
		t.Errorf("with an address: %v, spared %v", p, b.kernel.spared)
	}
	b.noPeer = nil
	b.deps.State = filepath.Join(b.deps.State, "none")
	b.start()
	refused("no state folder there", http.StatusInternalServerError)
	b.is("no state folder there", "in force", time.Hour)
	if s, p := b.PauseKernel(t.Context(), ""); p != nil || s.State != "paused" {
		t.Errorf("paused without a state folder: %+v, %v", s, p)
	}
	b.deps.State = ""
	b.start()
	refused("no state folder", http.StatusConflict)
	b.config.Enforce.NFTables = nil
	refused("no packet filter", http.StatusNotFound)
	for _, p := range []*call.Problem{problem(b.ConfirmKernel()), problem(b.ResumeKernel()), problem(b.PauseKernel(t.Context(), "")), problem(b.Kernel())} {
		if p == nil || p.Status != http.StatusNotFound {
			t.Errorf("no packet filter: %+v", p)
		}
	}
}

func problem[S any](_ S, p *call.Problem) *call.Problem { return p }

// A kernel that is not emptied in a pause is emptied later: the pause holds.
func TestPauseOfFailingKernel(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.kernel.err = errors.New("the kernel refuses")
	if _, p := b.PauseKernel(t.Context(), "why"); p == nil || p.Status != http.StatusInternalServerError || !strings.Contains(p.Fix, "--table edge") {
		t.Errorf("%+v", p)
	}
	b.kernel.err = nil
	b.later(time.Minute)
	b.is("when it works again", "paused", 0)
}
