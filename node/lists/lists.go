// Package lists keeps what is enforced outside of a node equal to its blocks: lists of
// proxies, of packet filters, of clouds. It has package enforce write those of the config, and
// empties those that the config no longer has.
package lists

import (
	"context"
	"iter"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/config"
	"edgeguard/enforce"
	"edgeguard/enforce/nftables"
	"edgeguard/internal/words"
	"edgeguard/node/alarm"
	"edgeguard/node/supervisor"
)

// Config is what the enforcers use of a node.
type Config struct {
	*InForce
	Now       func() time.Time
	Epoch     func(time.Time) time.Time // makes it wall-clock time
	Alarms    *alarm.Tracker
	Log       *slog.Logger
	HAProxies enforce.Enforcer // what those that connect are taught
	Bouncers  Follower         // learns of changes as the enforcers do; nil for none
	Clouds    CloudDeps        // the fleet, for lists that it shares
	State     string           // the folder of the record of the node's lists; empty: it is kept in memory only
}

// Follower learns of which prefixes other blocks are in force than before, or that it may
// be any. Its methods wait for nothing and are safe for concurrent use.
type Follower interface {
	Changed(...netip.Prefix)
	Refresh()
}

// Lists pass the blocklist to proxies and packet filters. They are safe for
// concurrent use.
type Lists struct {
	Filter   *KernelFilter // what operators change of the packet filter
	trial    *nftables.Trial
	config   Config
	owned    *record
	running  supervisor.Group[*enforcer]
	unmade   []string                    // of the config; of who calls Settle
	passing  sync.Mutex                  // held while a change is looked up and passed to the enforcers, so that they get the newest last
	emptying supervisor.Group[*emptying] // of lists that the config no longer has
}

// New returns enforcers without lists. Nothing is opened before Load and Settle.
func New(c Config) *Lists {
	s := supervisor.Config{Alarms: c.Alarms, Now: c.Now}
	e := &Lists{
		config: c, trial: new(nftables.Trial), owned: newRecord(c),
		running: supervisor.Group[*enforcer]{Config: s}, emptying: supervisor.Group[*emptying]{Config: s},
	}
	e.config.Clouds.Rank, e.config.Clouds.Log = e.rank, c.Log
	e.config.Clouds.Now, e.config.Clouds.LeftOut = c.Now, e.refreshWide
	e.config.Clouds.Monitor = func() bool { return e.config.Current().Monitor }
	e.Filter = newKernelFilter(e.trial, kernelDeps{
		Config: c.Current, List: e.packetFilter, Refresh: e.Refresh, Now: c.Now, Epoch: c.Epoch, Peers: nftables.SSHPeersOfHost,
		Alarms: c.Alarms, Log: c.Log, State: c.State,
	})
	return e
}

// Load reads the record of the lists that this node wrote, and whether the packet filter
// is paused.
func (e *Lists) Load() {
	e.owned.load()
	e.Filter.Load()
}

// Settle makes the enforcers that run those of the config.
func (e *Lists) Settle(ctx context.Context, c *config.Config) {
	wanted := listsOf(c, e.config.Clouds)
	if c.HAProxy.Enforces() {
		wanted = append(wanted, listOf{key: "haproxy peers", name: "haproxy peers", make: func() (enforce.Enforcer, error) { return e.config.HAProxies, nil }})
	}
	left := e.left(c.Node, wanted) // on the record before a new list is written
	e.emptying.Stop()
	e.running.Settle(ctx, e.want(wanted))
	e.emptying.Settle(ctx, left)
}

// AwaitFirst waits until each list of this host has been passed on once, whether that worked or
// not, and at most until ctx is done: what includes a list's file can be started then. Clouds are
// not waited for.
func (e *Lists) AwaitFirst(ctx context.Context) {
	for _, f := range e.running.All() {
		if _, cloud := f.list.(*keptCloud); cloud {
			continue
		}
		select {
		case <-f.runner.Tried():
		case <-ctx.Done():
			return
		}
	}
}

// Stop ends all enforcers and waits for them. Their lists stay in place.
func (e *Lists) Stop() {
	e.emptying.Stop()
	e.running.Stop()
}

// Report adds the figures of all.
func (e *Lists) Report(s *admin.Stats) {
	e.running.Report(s)
	for _, f := range e.running.All() {
		for i := range s.Enforcers {
			if s.Enforcers[i].Name == f.name && e.paused(f) {
				s.Enforcers[i].Installed = 0 // whatever the runner passed on
			}
		}
	}
}

// packetFilter returns the list of the packet filter and its figures; nil where none
// runs, with the figures of a folder of names.
func (e *Lists) packetFilter() (*nftables.TrialList, enforce.Stats) {
	for _, f := range e.running.All() {
		if list, ok := f.list.(*nftables.TrialList); ok {
			return list, f.runner.Stats()
		}
	}
	for _, f := range e.running.All() {
		if f.part == narrow {
			return nil, f.runner.Stats()
		}
	}
	return nil, enforce.Stats{}
}

// Refuses returns a function that returns the name of the first list that refuses
// what a block is about; empty for none. A list that has not been written yet
// refuses nothing, and no list does in mode monitor.
func (e *Lists) Refuses() func(*edgeguard.Block) string {
	var inForce []func(*edgeguard.Block) bool
	var names []string
	for _, f := range e.running.All() {
		if !f.runner.Stats().LastSuccess.IsZero() && !e.config.Current().Monitor && !e.paused(f) {
			inForce, names = append(inForce, f.refuses(e.partOf(f.part))), append(names, f.name)
		}
	}
	return func(b *edgeguard.Block) string {
		for i, refuses := range inForce {
			if refuses(b) {
				return names[i]
			}
		}
		return ""
	}
}

// paused reports whether an enforcer is the packet filter while that is paused.
func (e *Lists) paused(f *enforcer) bool {
	if _, ok := f.list.(*nftables.TrialList); !ok {
		return false
	}
	s := e.trial.StatusAt(e.config.Now())
	return s.State == nftables.Paused
}

// want returns the enforcers of the config. One that cannot be made is an
// alarm: the node's own verdicts are in force without it.
func (e *Lists) want(wanted []listOf) []*enforcer {
	var want []*enforcer
	for _, name := range e.unmade {
		e.config.Alarms.Ends(alarm.Enforcer, name)
	}
	e.unmade = nil
	for _, w := range wanted {
		p, err := e.make(w)
		if err != nil {
			e.unmade = append(e.unmade, w.name)
			e.config.Alarms.Begins(e.config.Now(), alarm.Enforcer, w.name, "the enforcer "+w.name+" cannot be set up: "+err.Error())
			continue
		}
		want = append(want, p)
	}
	return want
}

// The packet filter is governed by the trial.
var _ nftables.Kernel = (*nftables.Filter)(nil)

// make returns one enforcer with its runner.
func (e *Lists) make(w listOf) (*enforcer, error) {
	list, err := w.make()
	if err != nil {
		return nil, err
	}
	if k, ok := list.(nftables.Kernel); ok {
		list = nftables.NewTrialList(k, e.trial)
	}
	blocks := func(now time.Time) iter.Seq[edgeguard.Block] {
		all := e.config.All(now, w.wanted)
		if of := e.partOf(w.part); of != nil {
			all = filter(all, func(b *edgeguard.Block) bool { return of(b.Prefix) })
		}
		return all
	}
	rc := enforce.Config{Name: w.name, Enforcer: list, Blocks: blocks, Now: e.config.Now}
	if _, is := list.(*keptCloud); is {
		rc.Resync = cloudResync
	}
	runner, err := enforce.New(rc)
	if err != nil {
		return nil, err
	}
	return &enforcer{key: w.key, name: w.name, part: w.part, wanted: w.wanted, list: list, runner: runner}, nil
}

// Changed passes a changed block to every enforcer. Around an exempt address only
// parts of a block are in force: then the enforcers read the whole list again, where it
// is cut, and likewise for a block inside one that is cut.
func (e *Lists) Changed(b edgeguard.Block) {
	now := e.config.Now()
	if e.config.InParts(b.Prefix, now) {
		e.Refresh()
		return
	}
	e.passing.Lock()
	defer e.passing.Unlock()
	for _, f := range e.running.All() {
		if of := e.partOf(f.part); of == nil || of(b.Prefix) {
			f.runner.Changed(e.config.Changed(b, now, f.wanted, f.kernel()))
		}
	}
	if e.config.Bouncers != nil {
		e.config.Bouncers.Changed(b.Prefix)
	}
}

// ImportedChanged tells the enforcers that imported blocks of these prefixes changed; nil
// means that many did.
func (e *Lists) ImportedChanged(prefixes []netip.Prefix) {
	now := e.config.Now()
	if prefixes == nil || slices.ContainsFunc(prefixes, func(p netip.Prefix) bool { return e.config.InParts(p, now) }) {
		e.Refresh()
		return
	}
	e.passing.Lock()
	defer e.passing.Unlock()
	for _, f := range e.running.All() {
		of := e.partOf(f.part)
		for _, p := range prefixes {
			if of == nil || of(p) {
				f.runner.Changed(e.config.At(p, now, f.wanted, f.kernel()))
			}
		}
	}
	if e.config.Bouncers != nil {
		e.config.Bouncers.Changed(prefixes...)
	}
}

// Refresh has every enforcer read the whole list again: the allowances, the
// protected addresses or the mode changed.
func (e *Lists) Refresh() {
	for _, f := range e.running.All() {
		f.runner.Refresh()
	}
	if e.config.Bouncers != nil {
		e.config.Bouncers.Refresh()
	}
}

// Check raises the alarm about enforcers that fail: what they installed last
// stays in place, and they are tried again. It also writes the record of the
// node's lists, if that failed before.
func (e *Lists) Check(now time.Time) {
	for _, f := range e.running.All() {
		s := f.runner.Stats()
		switch {
		case s.Failing > 0 && s.LastError != nil:
			text := s.LastError.Error()
			if !strings.Contains(text, f.name) {
				text = f.name + ": " + text
			}
			if left := s.Intended - s.Installed; left > 0 {
				text += "; " + words.Plural(left, "block is", "blocks are") + " decided and not in force there"
			}
			e.config.Alarms.Begins(now, alarm.Enforcer, f.name, "updates fail, and the last installed list stays in place: "+text)
		case s.Failing == 0:
			e.config.Alarms.Recovers(alarm.Enforcer, f.name)
		}
	}
	e.owned.retry()
	e.Filter.Check(now)
}
