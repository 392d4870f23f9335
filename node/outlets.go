package node

import (
	"context"
	"iter"
	"net/netip"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/blocklist"
	"edgeguard/enforce"
)

// outlet is one enforcer with its runner: where blocks leave the node.
type outlet struct {
	key    string
	file   *enforce.File
	name   string
	runner *enforce.Runner
}

// wantOutlets gives the enforcers of the config. One that cannot be made is an
// alarm: the node's own verdicts hold without it.
func (n *Node) wantOutlets(wanted []listOf) []*outlet {
	var want []*outlet
	for _, w := range wanted {
		var p *outlet
		err := w.err
		if err == nil {
			p, err = n.newOutlet(w.key, w.name, w.config)
		}
		if err != nil {
			n.alarms.happened(n.clock.Now(), alarmEnforcer, w.name, "the enforcer "+w.name+" cannot work: "+err.Error())
			continue
		}
		want = append(want, p)
	}
	return want
}

// newOutlet makes one enforcer; key is all of its settings.
func (n *Node) newOutlet(key, name string, c enforce.FileConfig) (*outlet, error) {
	file, err := enforce.NewFile(c)
	if err != nil {
		return nil, err
	}
	runner, err := enforce.New(enforce.Config{Name: name, Enforcer: file, Blocks: n.enforced, Now: n.clock.Now})
	if err != nil {
		return nil, err
	}
	return &outlet{key: key, name: name, file: file, runner: runner}, nil
}

func (o *outlet) Key() string             { return o.key }
func (o *outlet) Alarm() (string, string) { return alarmEnforcer, o.name }

// Run hands on blocks until ctx is done. What fails is its runner's to try
// again, and housekeeping's to tell.
func (o *outlet) Run(ctx context.Context, _ func()) error {
	err := o.runner.Run(ctx) // it gives nil, always
	_ = o.file.Close()
	return err
}

// Report implements service.
func (o *outlet) Report(s *admin.Stats) { s.Enforcers = append(s.Enforcers, o.figures()) }

// enforced gives the blocks that enforcers are to know: none in mode monitor,
// and none of an address that is spared.
func (n *Node) enforced(now time.Time) iter.Seq[edgeguard.Block] {
	if n.pipeline.Current().Config.Monitor {
		return func(func(edgeguard.Block) bool) {}
	}
	protected, allowed := n.protected(), n.allowed(now)
	forced := func(b edgeguard.Block) bool {
		standing, _ := n.list.Find(now, b.Prefix.Addr())
		return standing == blocklist.Blocked && covered(protected, b.Prefix)
	}
	return func(yield func(edgeguard.Block) bool) {
		rest := filter(n.list.All(now), func(b edgeguard.Block) bool { return !forced(b) })
		for b := range enforce.Around(rest, append(protected, allowed...)) {
			if !yield(b) {
				return
			}
		}
		for b := range enforce.Around(filter(n.list.All(now), forced), allowed) {
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

// refreshOutlets has every enforcer told the whole list again: what is allowed,
// the protected addresses or the mode changed.
func (n *Node) refreshOutlets() {
	for _, o := range n.outlets.all() {
		o.runner.Refresh()
	}
}

// figures gives how an enforcer stands.
func (o *outlet) figures() admin.Enforcer {
	s := o.runner.Stats()
	e := admin.Enforcer{
		Name: o.name, Intended: s.Intended, Installed: s.Installed, Withheld: s.Withheld,
		Updates: s.Updates, Failures: s.Failures, Failing: s.Failing, Success: s.LastSuccess,
	}
	if s.Failing > 0 && s.LastError != nil {
		e.Error = s.LastError.Error()
	}
	return e
}
