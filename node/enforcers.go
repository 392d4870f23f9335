package node

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"net/netip"
	"slices"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/blocklist"
	"edgeguard/clockguard"
	"edgeguard/config"
	"edgeguard/enforce"
	"edgeguard/node/pipeline"
)

// enforcer is one list of blocks with its runner: a service.
type enforcer struct {
	key, name string
	list      enforce.Enforcer
	runner    *enforce.Runner
}

// enforcers pass the blocklist to proxies and packet filters.
type enforcers struct {
	pipeline  *pipeline.Pipeline
	list      *blocklist.List
	protected *protected
	clock     *clockguard.Clock
	alarms    *alarms
	log       *slog.Logger
	owned     *ownedLists
	running   group[*enforcer]
	emptying  group[*emptying] // of lists that the config no longer has
}

// settle makes the enforcers that run those of the config.
func (e *enforcers) settle(ctx context.Context, c *config.Config) {
	wanted := listsOf(c)
	left := e.left(wanted) // on the record before a new list is written
	e.emptying.stop()
	e.running.settle(ctx, e.want(wanted))
	e.emptying.settle(ctx, left)
}

func (e *enforcers) stop() {
	e.emptying.stop()
	e.running.stop()
}

// listOf is one enforcer of the config. A new kind of enforcer is a case of
// listsOf.
type listOf struct {
	key, name string // key is all of its settings
	make      func() (enforce.Enforcer, error)
	// owned is what to empty when the config no longer has the list, nil for
	// one that ends by itself.
	owned *enforce.Owned
}

// listsOf returns the enforcers of a config.
func listsOf(c *config.Config) (all []listOf) {
	for _, f := range c.Enforce.Files {
		fc, err := fileConfig(f)
		all = append(all, fileList(fmt.Sprintf("file %+v", f), f.File, fc, f.KeepRemoved, err))
	}
	if h := c.Enforce.HAProxy; h != nil {
		fc := enforce.FileConfig{Path: h.ACL, Format: enforce.FormatHAProxy, Socket: h.Socket, Every: h.Every}
		if h.Map != "" {
			fc.Path, fc.Format = h.Map, enforce.FormatHAProxyMap
		}
		all = append(all, fileList(fmt.Sprintf("haproxy %+v", *h), "haproxy "+h.Socket, fc, h.KeepRemoved, nil))
	}
	return all
}

// fileList returns a list in a file or in HAProxy; err is what is wrong with its
// settings.
func fileList(key, name string, c enforce.FileConfig, keep bool, err error) listOf {
	if err != nil {
		return listOf{key: key, name: name, make: func() (enforce.Enforcer, error) { return nil, err }}
	}
	owned := enforce.Own(c, keep)
	return listOf{key: key, name: name, owned: &owned, make: func() (enforce.Enforcer, error) { return enforce.NewFile(c) }}
}

// want returns the enforcers of the config. One that cannot be made is an
// alarm: the node's own verdicts are in force without it.
func (e *enforcers) want(wanted []listOf) []*enforcer {
	var want []*enforcer
	for _, w := range wanted {
		p, err := e.make(w)
		if err != nil {
			e.alarms.happened(e.clock.Now(), alarmEnforcer, w.name, "the enforcer "+w.name+" cannot be set up: "+err.Error())
			continue
		}
		want = append(want, p)
	}
	return want
}

// make returns one enforcer with its runner.
func (e *enforcers) make(w listOf) (*enforcer, error) {
	list, err := w.make()
	if err != nil {
		return nil, err
	}
	runner, err := enforce.New(enforce.Config{Name: w.name, Enforcer: list, Blocks: e.blocks, Now: e.clock.Now})
	if err != nil {
		return nil, err
	}
	return &enforcer{key: w.key, name: w.name, list: list, runner: runner}, nil
}

func (f *enforcer) Key() string             { return f.key }
func (f *enforcer) Alarm() (string, string) { return alarmEnforcer, f.name }

// Run passes blocks on until ctx is done. The runner tries again what fails, and
// housekeeping raises the alarm.
func (f *enforcer) Run(ctx context.Context, _ func()) error {
	err := f.runner.Run(ctx) // it always returns nil
	_ = f.list.Close()
	return err
}

// Report implements service.
func (f *enforcer) Report(s *admin.Stats) { s.Enforcers = append(s.Enforcers, f.figures()) }

// blocks returns the blocks that enforcers are given: none in mode monitor, and
// none of an exempt address.
func (e *enforcers) blocks(now time.Time) iter.Seq[edgeguard.Block] {
	if e.pipeline.Current().Config.Monitor {
		return func(func(edgeguard.Block) bool) {}
	}
	protected, allowed := e.protected.prefixes(), e.allowed(now)
	forced := func(b edgeguard.Block) bool {
		standing, _ := e.list.Find(now, b.Prefix.Addr())
		return standing == blocklist.Blocked && covered(protected, b.Prefix)
	}
	return func(yield func(edgeguard.Block) bool) {
		rest := filter(e.list.All(now), func(b edgeguard.Block) bool { return !forced(b) })
		for b := range enforce.Around(rest, append(protected, allowed...)) {
			if !yield(b) {
				return
			}
		}
		for b := range enforce.Around(filter(e.list.All(now), forced), allowed) {
			if !yield(b) {
				return
			}
		}
	}
}

func filter(blocks iter.Seq[edgeguard.Block], keep func(edgeguard.Block) bool) iter.Seq[edgeguard.Block] {
	return func(yield func(edgeguard.Block) bool) {
		for b := range blocks {
			if keep(b) && !yield(b) {
				return
			}
		}
	}
}

// covered reports whether p lies inside one of the prefixes.
func covered(prefixes []netip.Prefix, p netip.Prefix) bool {
	for _, outer := range prefixes {
		if outer.Bits() <= p.Bits() && outer.Contains(p.Addr()) {
			return true
		}
	}
	return false
}

// allowed returns the prefixes in which no address is blocked at now: the
// allowlist of the config and the allowances made at run time.
func (e *enforcers) allowed(now time.Time) []netip.Prefix {
	all := slices.Clone(e.pipeline.Current().Config.Allowlist)
	for a := range e.list.Allowances(now) {
		all = append(all, a.Prefix)
	}
	return all
}

// add passes a changed block to every enforcer.
func (e *enforcers) add(b edgeguard.Block) {
	for _, f := range e.running.all() {
		f.runner.Hear(b)
	}
}

// refresh has every enforcer read the whole list again: the allowances, the
// protected addresses or the mode changed.
func (e *enforcers) refresh() {
	for _, f := range e.running.all() {
		f.runner.Refresh()
	}
}

// check raises the alarm about enforcers that fail: what they installed last
// stays in place, and they are tried again.
func (e *enforcers) check(now time.Time) {
	for _, f := range e.running.all() {
		s := f.runner.Stats()
		switch {
		case s.Failing > 0 && s.LastError != nil:
			e.alarms.begins(now, alarmEnforcer, f.name, "updates fail, and the last installed list stays in place: "+s.LastError.Error())
		case s.Failing == 0:
			e.alarms.recovers(alarmEnforcer, f.name)
		}
	}
}

// figures returns the enforcer's figures.
func (f *enforcer) figures() admin.Enforcer {
	s := f.runner.Stats()
	out := admin.Enforcer{
		Name: f.name, Intended: s.Intended, Installed: s.Installed, Withheld: s.Withheld,
		Updates: s.Updates, Failures: s.Failures, Failing: s.Failing, Success: s.LastSuccess,
	}
	if s.Failing > 0 && s.LastError != nil {
		out.Error = s.LastError.Error()
	}
	return out
}
