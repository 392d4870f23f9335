package node

import (
	"context"
	"slices"
	"time"

	"edgeguard/admin"
	"edgeguard/config"
	"edgeguard/node/checks"
	"edgeguard/node/listeners"
	"edgeguard/node/supervisor"
)

// part is one feature of a node, or one thing that it looks after. A function that it does not
// have is nil.
type part struct {
	name   string
	load   func()                                // reads its files, before anything runs
	settle func(context.Context, *config.Config) // makes what runs that of a config
	again  func()                                // follows a reload, once all parts are settled
	report func(*admin.Stats)                    // adds its figures
	check  func(now time.Time)                   // raises and ends its alarms, once a second
	seldom func(now time.Time)                   // the same, at the start and every ten seconds
	stop   func()                                // ends all that runs, and waits for it
}

// parts are those of a node, in the order in which events pass them: so they end. They begin in
// the other, so that who is told of something is there before it happens.
type parts []part

func (all parts) load()  { all.call(func(p part) func() { return p.load }) }
func (all parts) again() { all.call(func(p part) func() { return p.again }) }
func (all parts) stop()  { all.call(func(p part) func() { return p.stop }) }

func (all parts) call(function func(part) func()) {
	for _, p := range all {
		if f := function(p); f != nil {
			f()
		}
	}
}

func (all parts) settle(ctx context.Context, c *config.Config) {
	for _, p := range slices.Backward(all) {
		if p.settle != nil {
			p.settle(ctx, c)
		}
	}
}

func (all parts) report(to *admin.Stats) {
	for _, p := range all {
		if p.report != nil {
			p.report(to)
		}
	}
}

func (all parts) check(now time.Time) {
	for _, p := range all {
		if p.check != nil {
			p.check(now)
		}
	}
}

func (all parts) checkSeldom(now time.Time) {
	for _, p := range all {
		if p.seldom != nil {
			p.seldom(now)
		}
	}
}

// listening is the listeners of one kind, which want makes of a config.
func listening[S any](name string, s supervisor.Config, want func(*config.Config) []*listeners.Service[S]) part {
	all := &listeners.Listeners[S]{}
	all.Config = s
	settle := func(ctx context.Context, c *config.Config) { all.Settle(ctx, want(c)) }
	return part{name: name, settle: settle, report: all.Report, check: all.Check, stop: all.Stop}
}

// listParts lists the parts of a node.
func (n *Node) listParts() parts {
	held := &heldCheck{pipeline: n.pipeline, quarantine: n.quarantine, alarms: n.alarms, log: n.options.Log, resync: n.fleet.Resync, changed: n.admin.held}
	served := &checks.Served{
		Begun: n.lifecycle.begun, Current: n.pipeline.Current, Answers: &n.pipeline.Answers, Report: n.report, Alarms: n.alarms,
		Blocks: func() int { return n.list.Len() + n.imports.Summary().Blocks },
	}
	return slices.Concat(parts{
		{name: "alarms", check: n.alarms.Again},
		{name: "sweep", check: n.sweep},
		{name: "overlay", check: func(now time.Time) {
			n.lifecycle.overlay.EndDue(now)
			n.lifecycle.overlay.Learn(now)
		}},
	}, n.sensors, parts{
		{name: "uncounted", check: n.uncounted.Check},
		{name: "dominant", seldom: (&checks.Dominant{Current: n.pipeline.Current, Alarms: n.alarms}).Check},
		{name: "hidden", seldom: (&checks.Hidden{Current: n.pipeline.Current, Alarms: n.alarms}).Check},
		{name: "flood", check: (&checks.Flooded{Watch: n.pipeline.Flood, Alarms: n.alarms, Log: n.options.Log.Info}).Check},
		{name: "site", check: (&checks.SiteFails{Fails: n.pipeline.Fails, Site: n.pipeline.Site, Alarms: n.alarms}).Check},
		{name: "samples", seldom: n.pipeline.Samples().Sweep},
		// At the end it pushes the last counts. The allowlist before a reload may have refused blocks.
		{name: "fleet", settle: n.fleet.Settle, again: n.fleet.Resync, report: n.fleet.Report, check: n.fleet.Follow, stop: n.fleet.Stop},
		{name: "held", check: held.check},
		{name: "nodes", check: (&checks.Nodes{Current: n.pipeline.Current, Alarms: n.alarms}).Check},
		{name: "unsigned", seldom: (&checks.Unsigned{Current: n.pipeline.Current, Records: n.fleet.Records, Alarms: n.alarms}).Check},
		{name: "claims", check: (&checks.Claims{List: n.list, Alarms: n.alarms, Peers: n.protected.peers.Load}).Check},
		{name: "room", check: (&checks.FullList{List: n.list, Alarms: n.alarms, Log: n.options.Log.Info}).Check},
		{name: "state", load: func() { n.fleet.Resume(n.store.restore()) }, seldom: n.store.checkAside, stop: func() {
			n.admin.rates.EndDay()
			n.fleet.Mark(n.store.save())
		}},
		// After a reload the allowlist or the mode may be another.
		{name: "lists", load: n.enforcers.Load, settle: n.enforcers.Settle, again: n.enforcers.Refresh, report: n.enforcers.Report, check: n.enforcers.Check, stop: n.enforcers.Stop},
		{name: "blocklists", settle: n.blocklists.Settle, report: n.blocklists.Report, stop: n.blocklists.Stop},
		{name: "imports", report: n.imports.Report, check: n.imports.Check},
		{name: "bouncers", load: n.bouncers.Load, settle: n.bouncers.Settle, report: n.bouncers.Report, check: n.bouncers.Check, stop: n.bouncers.Stop},
		{name: "crowdsec", settle: n.crowdSec.Settle, report: n.crowdSec.Report, stop: n.crowdSec.Stop},
		{name: "notify", settle: n.notify.Settle, report: n.notify.Report, stop: n.notify.Stop}, // after all that it tells of
		{name: "elsewhere", report: n.elsewhere.Report, seldom: n.elsewhere.Check},
		{name: "served", seldom: served.Check},
		{name: "admin", settle: n.admin.settle, again: n.admin.readTokens, check: func(now time.Time) { n.admin.check(now, n.pipeline) }, stop: n.admin.listeners.Stop},
	})
}
