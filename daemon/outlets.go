package daemon

import (
	"context"
	"fmt"
	"iter"
	"net/netip"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/config"
	"edgeguard/enforce"
)

// outlet is one enforcer with its runner: where blocks leave the node.
type outlet struct {
	name   string
	runner *enforce.Runner
}

// wantOutlets gives the enforcers of the config. One that cannot be made is an
// alarm: the node's own verdicts hold without it.
func (n *Node) wantOutlets(c *config.Config) []part {
	var want []part
	add := func(key, name string, fc enforce.FileConfig, err error) {
		var p part
		if err == nil {
			p, err = n.newOutlet(key, name, fc)
		}
		if err != nil {
			n.alarms.happened(n.clock.Now(), alarmEnforcer, name, "the enforcer "+name+" cannot work: "+err.Error())
			return
		}
		want = append(want, p)
	}
	for _, f := range c.Enforce.Files {
		fc, err := fileConfig(f)
		add(fmt.Sprintf("file %+v", f), f.File, fc, err)
	}
	if h := c.Enforce.HAProxy; h != nil {
		fc := enforce.FileConfig{Path: h.ACL, Format: enforce.FormatHAProxy, Socket: h.Socket, Every: h.Every}
		if h.Map != "" {
			fc.Path, fc.Format = h.Map, enforce.FormatHAProxyMap
		}
		add(fmt.Sprintf("haproxy %+v", *h), "haproxy "+h.Socket, fc, nil)
	}
	return want
}

// newOutlet makes the part of one enforcer; key is all of its settings.
func (n *Node) newOutlet(key, name string, c enforce.FileConfig) (part, error) {
	file, err := enforce.NewFile(c)
	if err != nil {
		return part{}, err
	}
	runner, err := enforce.New(enforce.Config{Name: name, Enforcer: file, Blocks: n.enforced, Now: n.clock.Now})
	if err != nil {
		return part{}, err
	}
	run := func(ctx context.Context) {
		_ = runner.Run(ctx) // it gives nil, always
		_ = file.Close()
	}
	return part{key: key, shows: &outlet{name: name, runner: runner}, run: run}, nil
}

// enforced gives the blocks that enforcers are to know: none in mode monitor,
// and none of an address that is spared.
func (n *Node) enforced(now time.Time) iter.Seq[edgeguard.Block] {
	if n.core.Load().config.Monitor {
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
	for _, o := range shows[*outlet](&n.outlets) {
		o.runner.Refresh()
	}
}
