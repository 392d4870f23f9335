package node

import (
	"context"
	"fmt"
	"net/netip"
	"os"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/admin/access"
	"edgeguard/admin/metrics"
	"edgeguard/admin/watch"
	"edgeguard/aggregator"
	"edgeguard/aggregator/fleet"
	"edgeguard/aggregator/quarantine"
	"edgeguard/aggregator/redis"
	"edgeguard/blocklist"
	"edgeguard/blocklist/imported"
	"edgeguard/clockguard"
	"edgeguard/config"
	"edgeguard/crawlers"
	"edgeguard/detector"
	"edgeguard/enforce/haproxypeers"
	"edgeguard/eventlog"
	"edgeguard/frontdoor"
	"edgeguard/haproxy/peers"
	"edgeguard/internal/hugepage"
	"edgeguard/internal/words"
	"edgeguard/node/alarm"
	"edgeguard/node/checks"
	"edgeguard/node/evidence"
	"edgeguard/node/fleetlink"
	"edgeguard/node/listeners"
	"edgeguard/node/lists"
	"edgeguard/node/neighbours"
	"edgeguard/node/overlay"
	"edgeguard/node/pipeline"
	"edgeguard/node/sockets"
	"edgeguard/node/status"
	"edgeguard/node/supervisor"
	"edgeguard/tuning"
)

// wire makes the parts of a node and connects them. The seed is that of the
// tables, boot names this run in the fleet.
func (n *Node) wire(c *config.Config, seed, boot uint64) {
	n.clock = clockguard.New(clockguard.Read(), clockguard.Config{Align: align(c)})
	n.lifecycle.begun = n.clock.Now()
	n.lifecycle.systemd = newNotifier(os.Getenv)
	n.journal = newJournal(n.options.Log, n.clock.Epoch)
	n.alarms = alarm.New(func(a edgeguard.Alarm) { n.journal.add(entry{alarm: &a}) }, n.recovered)
	n.alarms.Over = func(a edgeguard.Alarm) {
		a.Time = n.clock.Now()
		n.journal.add(entry{alarm: &a})
	}
	n.sockets = sockets.New(func(text string) { n.options.Log.Warn(text) })
	n.list = blocklist.New(blocklist.Config{Allow: c.Allowlist, Retention: c.Rules.LongestWindow(), Most: c.MaxBlocks})
	n.imports = &neighbours.ImportedLists{
		Set:  imported.New(imported.Config{Own: n.list, Node: c.Node, Most: c.MaxImported, Changed: n.importedChanged}),
		Most: func() int { return n.pipeline.Current().Config.MaxImported }, Epoch: n.clock.Epoch, Alarms: n.alarms,
	}
	n.quarantine = quarantine.New(n.list, func(b edgeguard.Block) { n.fleet.Ask(b) })
	n.quarantine.SetLimit(confirmShare(c))
	n.quarantine.SetMost(c.MaxBlocks)
	kept := evidence.NewSamples(c.Samples, evidence.SampleRoom(c.Memory, c.Samples))
	n.pipeline = pipeline.New(pipeline.Config{
		Samples: kept, Doors: frontdoor.New(seed),
		Memory: hugepage.Memory(c.Memory - kept.Most()), List: n.list, Imported: n.imports.Set, Seed: seed, Boot: n.lifecycle.begun, Offset: n.clock.Offset, Crossed: n.crossed,
		Evidence: func(e edgeguard.Evidence) { n.store.evidence.Kept.Add(e); n.store.touch() },
		Cleared:  func() { n.store.touch() },
	}, c)
	s := supervisor.Config{Alarms: n.alarms, Now: n.clock.Now}
	teacher := haproxypeers.New()
	n.wireSensors(s, c, teacher)
	n.wireNeighbours(s, c, boot)
	n.protected = &protected{pipeline: n.pipeline, list: n.list, imported: n.imports.Set, clock: n.clock, alarms: n.alarms, changed: func() { n.enforcers.Refresh() }}
	blocks := &lists.InForce{Current: func() *config.Config { return n.pipeline.Current().Config }, List: n.list, Imported: n.imports.Set, Protected: n.protected.prefixes}
	n.bouncers = neighbours.NewBouncers(neighbours.BouncerDeps{
		Clock: n.clock, Sockets: n.sockets, Alarms: n.alarms, Log: n.options.Log, State: c.State, Blocks: blocks,
	})
	n.enforcers = lists.New(lists.Config{
		InForce: blocks,
		Now:     n.clock.Now, Epoch: n.clock.Epoch, Alarms: n.alarms, Log: n.options.Log, State: c.State, HAProxies: teacher, Bouncers: n.bouncers,
		Clouds: lists.CloudDeps{
			Lead: func(ctx context.Context, l *redis.Lease, spare bool) (alone bool, err error) {
				return n.fleet.Lead(ctx, l, spare)
			},
			Leave: func(ctx context.Context, l *redis.Lease) error { return n.fleet.Leave(ctx, l) },
		},
	})
	n.fleet = fleetlink.New(fleetlink.Config{
		Pipeline: n.pipeline, List: n.list, Quarantine: n.quarantine, Evidence: n.store.evidence.Kept, Clock: n.clock, Alarms: n.alarms, Log: n.options.Log,
		Own: n.protected.own, UsePeers: n.protected.usePeers, Touch: n.store.touch, Version: n.options.Version, Boot: boot, State: c.State,
		Thresholds: func() overlay.FleetPart { return n.lifecycle.overlay.Fleet() },
		Figures:    func(asked []aggregator.Span) fleet.Figures { return n.admin.status.Own(asked) }, Rules: n.ruleFacts,
	})
	n.wireAdmin(s, c)
	n.parts = n.listParts()
}

// wireNeighbours makes what tells others of blocks, or takes in theirs.
func (n *Node) wireNeighbours(s supervisor.Config, c *config.Config, boot uint64) {
	n.crowdSec = neighbours.NewCrowdSecClient(neighbours.CrowdSecDeps{
		Set: n.imports.Set, Clock: n.clock, Alarms: n.alarms, Log: n.options.Log, State: c.State, Node: c.Node, Version: n.options.Version, Unit: n.unit,
	})
	n.notify = &neighbours.Notifiers{Group: supervisor.Group[*neighbours.NotifyReceiver]{Config: s}, NotifyDeps: neighbours.NotifyDeps{
		Clock: n.clock, Log: n.options.Log, Run: fmt.Sprintf("%08x", uint32(boot)), Version: n.options.Version, Settled: n.lifecycle.ready.Load, Unit: n.unit,
	}}
	n.blocklists = &neighbours.Subscriptions{
		Group: supervisor.Group[*neighbours.Subscription]{Config: s},
		BlocklistDeps: neighbours.BlocklistDeps{
			Set: n.imports.Set, Epoch: n.clock.Epoch, Local: n.clock.Local, Log: n.options.Log, State: c.State, Version: n.options.Version,
		},
	}
	n.imports.Feeders = []admin.ImportFeeder{n.blocklists, n.crowdSec}
}

// wireSensors makes the sensors and the store, which keeps how far logs were
// read.
func (n *Node) wireSensors(s supervisor.Config, c *config.Config, teacher *haproxypeers.Teacher) {
	n.latency = metrics.NewLatency()
	n.uncounted = &checks.UncountedRequests{Current: n.pipeline.Current, List: n.list, Alarms: n.alarms, Sources: n.handedIn}
	n.logs = &logGroup{Group: supervisor.Group[*logSource]{Config: s}, missed: n.uncounted.Missed, handedIn: n.handedIn}
	positions := &positions{pipeline: n.pipeline, logs: &n.logs.Group}
	n.store = (&store{
		pipeline: n.pipeline, list: n.list, quarantine: n.quarantine, positions: positions, clock: n.clock, alarms: n.alarms, log: n.options.Log,
		evidence: evidenceSide(c.State, evidence.NewKept()), history: historySide(c.State, new(tuning.History)), tally: newKeptTally(c.Memory),
		doors: doorsSide(c.State, n.pipeline, n.clock), replaced: replacedSide(c.State, n.list),
	}).in(c.State)
	n.logs.logDeps = logDeps{n.pipeline, n.clock, n.alarms, n.options.Log, positions, n.store.cut.RLocker(), n.store.touch, n.uncounted.Uncounter}
	packets := &packetGroup{logDeps: n.logs.logDeps, Group: supervisor.Group[*packetSource]{Config: s}}
	asked := &listeners.Asked{
		Deps: n.listens(), Pipeline: n.pipeline, Clock: n.clock, Uncounter: n.uncounted.Uncounter,
		Observe: func(source string, counts bool, decide edgeguard.Decider) edgeguard.Decider {
			if !counts {
				return observed(n.latency, nil, source, decide)
			}
			return observed(n.latency, &n.pipeline.Verdicts, source, decide)
		},
	}
	haproxies := &listeners.HAProxies{
		Deps: n.listens(), Pipeline: n.pipeline, Clock: n.clock, Teacher: teacher, Cut: n.store.cut.RLocker(), Touch: n.store.touch,
		Tally: func() *peers.Tally { return n.store.tally.Kept }, Missed: n.uncounted.Missed,
	}
	crawling := &neighbours.CrawlingServices{
		Group: supervisor.Group[*neighbours.Crawling]{Config: s}, Log: n.options.Log, Current: func() *crawlers.Crawlers { return n.pipeline.Current().Crawlers },
	}
	n.sensors = parts{
		listening("auth", s, asked.Auth),
		listening("spoe", s, asked.SPOE),
		listening("envoy", s, asked.Envoy),
		{name: "logs", settle: n.logs.Settle, report: n.logs.Report, check: n.logs.check, stop: n.logs.Stop},
		{name: "packets", settle: packets.Settle, report: packets.Report, check: packets.check, stop: packets.Stop},
		listening("haproxies", s, haproxies.Peers),
		{name: "crawlers", settle: crawling.Settle, report: crawling.Report, stop: crawling.Stop}, // which events are a crawler's
	}
}

// handedIn returns how many events each source handed in.
func (n *Node) handedIn() []admin.Source {
	var out admin.Stats
	n.sensors.report(&out)
	return out.Sources
}

// listens is what listeners use of the node.
func (n *Node) listens() listeners.Deps {
	return listeners.Deps{Sockets: n.sockets, Alarms: n.alarms, Log: n.options.Log}
}

// wireAdmin makes what the admin API shows and changes.
func (n *Node) wireAdmin(s supervisor.Config, c *config.Config) {
	kept := eventlog.New(eventlog.Config{Folder: inState(c.State, eventsFolder), Behind: uint64(n.clock.Epoch(n.clock.Now()).UnixMilli()), Bytes: c.KeepEvents, Keep: c.KeepEventsFor})
	shown := status.New(n.sources())
	events := admin.NewEvents(c.Node, kept, shown.Unit)
	events.Expect(alarm.Kinds())
	view := admin.NewView(shown, events)
	n.kept = &eventKeeper{log: kept, clock: n.clock, alarms: n.alarms, leftOut: n.journal.leave}
	n.lifecycle.overlay = overlay.New(overlay.Deps{
		State: c.State, Now: n.clock.Now, Epoch: n.clock.Epoch, Replace: n.retune, List: n.list, Learned: shown.Learned, Outcome: view.Outcome, ConfirmShare: confirmShare,
		Detector: func() *detector.Detector { return n.pipeline.Current().Detector }, Alarms: n.alarms, Log: n.options.Log,
		Audit: func(who, action, rule, detail string) {
			view.Record(admin.Audit{Who: who, Action: action, Target: rule, Detail: detail, Result: "ok"})
		},
	})
	n.elsewhere = &checks.Others{
		Current: func() *pipeline.Generation { return n.pipeline.Current() }, List: n.list, Imported: n.imports.Set, Held: n.quarantine.Sources, Most: confirmShare, Alarms: n.alarms,
	}
	n.admin = &adminAPI{
		status: shown, view: view, events: events, latency: n.latency, logins: access.NewLogins(), deps: n.listens(), notify: n.notify, clock: n.clock,
		operator: &operator{
			Control: n.lifecycle.overlay, KernelFilter: n.enforcers.Filter, ImportedLists: n.imports, BouncerService: n.bouncers, pipeline: n.pipeline, list: n.list, quarantine: n.quarantine, clock: n.clock, status: shown, reload: n.Reload, room: n.journal.room,
			publish:     func() { n.fleet.Sign() },
			clientNames: &clientNames{n.pipeline, n.clock, n.store.touch},
		},
	}
	n.store.day = daySide(c.State, &n.admin.rates)
	n.admin.listeners.Config = s
	n.journal.publish = n.admin.publish
}

// ruleFacts returns what the rules in force do, for nodes whose rules differ.
func (n *Node) ruleFacts() fleet.RuleFacts {
	g := n.pipeline.Current()
	facts := fleet.RuleFacts{Digest: g.Digest}
	for i := range g.Config.Rules.Rules {
		r := &g.Config.Rules.Rules[i]
		one := fleet.RuleFact{Name: r.Name, Meter: g.Config.Rules.Meters[r.Meter].Fingerprint, Limit: r.Limit, Action: r.Action.String()}
		if r.Learned { // by each node
			one.Limit = 0
		} else if o, _ := n.lifecycle.overlay.Shown(r.Name); o != nil {
			one.Base = r.Guard.Limit(o.Base)
		}
		facts.Rules = append(facts.Rules, one)
	}
	return facts
}

// unit returns what the figures of a node's rule are of.
func (n *Node) unit(rule, origin string) words.Measure { return n.admin.status.Unit(rule, origin) }

// sources is what the admin API reads of the node.
func (n *Node) sources() status.Sources {
	return status.Sources{
		Version: n.options.Version, Begun: n.lifecycle.begun, Clock: n.clock, List: n.list, Imported: n.imports.Set, Imports: n.imports.Summary, Quarantine: n.quarantine,
		Memory: n.pipeline.Memory, Current: func() status.Generation { return generation(n.pipeline.Current()) },
		Verdicts: n.pipeline.Verdicts.Each, Crossings: n.pipeline.Crossings.Count,
		Conditions: n.alarms.Lasting, Report: n.report, Refuses: n.enforcers.Refuses,
		Overlay: func(rule string) config.RuleOverlay { return n.lifecycle.overlay.Of(rule) },
		Layers:  func(rule string) (*admin.Overlay, *admin.FleetThreshold) { return n.lifecycle.overlay.Shown(rule) },
		Unused:  func() []admin.Unused { return n.lifecycle.overlay.Unused() },
		Rates:   func() []watch.Series { return n.admin.rates.Series() }, Day: func() []watch.DayMinute { return n.admin.rates.Day() }, Why: n.protected.why,
		Minute: func() watch.Minute { return n.admin.rates.Minute() }, Said: n.fleet.Said, Attacks: func() string { return n.admin.view.TellAttacks() }, Crowd: n.pipeline.Crowd, With: n.pipeline.Crowds.With, MayBeCustomer: n.pipeline.MayBeCustomer, Alike: n.fleet.Alike,
		Evidence: n.store.evidence.Kept.Of, Customers: n.store.evidence.Kept.Customers, Samples: n.pipeline.Samples(), History: n.store.history.Kept, Nodes: n.fleet.Nodes, Shares: n.fleet.Shares, Held: n.fleet.Held,
	}
}

// generation returns what the admin API reads of a generation.
func generation(g *pipeline.Generation) status.Generation {
	out := status.Generation{Config: g.Config, Detector: g.Detector, Tables: func() (all []status.MeterTable) {
		for _, t := range g.Detector.Tables() {
			all = append(all, status.MeterTable{Meter: t.Meter, Forgeable: t.Forgeable, Wide: t.Wide, Counts: t.Table})
		}
		return all
	}}
	if g.Member != nil {
		out.Totals, out.Key = g.Member.Totals, g.Member.KeyOfBlock
	}
	return out
}

// report adds the figures of all parts.
func (n *Node) report(s *admin.Stats) {
	s.Ready, s.Reload = n.lifecycle.ready.Load(), n.lifecycle.reloads.figures(n.clock, n.lifecycle.begun, n.pipeline.Current().Config)
	s.Snapshot, s.Uncounted = n.store.figures(), n.uncounted.Figures()
	s.Flood, s.Site = n.pipeline.Flood.Figures(), n.site()
	n.parts.report(s)
	doors := n.pipeline.FrontDoors(n.clock.Now())
	for i := range s.Sources {
		s.Sources[i].FrontDoor = doors[s.Sources[i].Name]
	}
}

// changed is called with every change of the blocklist, on the goroutine that
// made it.
func (n *Node) changed(b edgeguard.Block) {
	now := n.clock.Now()
	n.quarantine.Changed(now, b)
	if b.Allow {
		n.allowanceChanged(b)
		return
	}
	if n.list.Trust(b.Prefix).Elsewhere { // also one of this node's name that came back to it
		n.pipeline.Current().Detector.Received(now, &b)
	}
	n.store.evidence.Kept.Changed(b, now)
	n.pipeline.Samples().Changed(b, now)
	e := entry{block: &b, imported: n.admin.operator.imports(&b)}
	if last := n.lastEnded; b.Lifted && last != nil && last.Prefix == b.Prefix {
		e.ended, n.lastEnded = last, nil
	}
	n.journal.add(e)
	n.notify.Changed(now, &b)
	n.store.touch()
	n.fleet.Publish(b)
	if !n.pipeline.Current().Config.Monitor {
		n.enforcers.Changed(b)
		n.crowdSec.Changed(b)
	}
}

// allowanceChanged is called with an allowance that was made, changed, taken
// back, or has ended. Enforcers read the whole list again: blocks inside the
// allowance were in force, or are again.
func (n *Node) allowanceChanged(b edgeguard.Block) {
	expired := !b.Lifted && !n.clock.Now().Before(b.Until)
	n.journal.add(entry{block: &b, expired: expired, imported: n.admin.operator.imports(&b)})
	n.store.touch()
	if !expired { // a node that knows the allowance knows its end
		n.fleet.Publish(b)
	}
	n.enforcers.Refresh()
}

// importedChanged is called with the prefixes of imported blocks that changed, nil for
// many. They are of this node only: enforcers alone receive them.
func (n *Node) importedChanged(prefixes []netip.Prefix) {
	if !n.pipeline.Current().Config.Monitor {
		n.enforcers.ImportedChanged(prefixes)
	}
}

// evicted is called with a block that made room for another: no enforcer may
// keep it, and the fleet does not learn of it.
func (n *Node) evicted(b edgeguard.Block) {
	n.store.touch()
	b.Until = b.Since // which has come
	n.enforcers.Changed(b)
}

// ended is called with every block that has ended. That of a lift waits for its tombstone,
// which comes next.
func (n *Node) ended(e blocklist.Ended) {
	if e.Why == blocklist.EndedByLift {
		n.lastEnded = &e
		return
	}
	n.journal.add(entry{ended: &e})
}

// recovered is called with a state that an alarm was about, and that has ended.
func (n *Node) recovered(kind, about string) {
	n.options.Log.Info("works again", "alarm", kind, "about", about)
}

// crossed is called with what a rule did. Blocks are reported by the list.
func (n *Node) crossed(c edgeguard.Crossing) {
	switch {
	case c.Action == edgeguard.ActionBlock:
	case c.Action == edgeguard.ActionAlarm && c.Wide > 0:
		n.alarms.Happened(c.Time, alarm.Wide, c.Rule, fmt.Sprintf("%s counts %d, over the %d that rule %s allows a /%d, and is only reported:"+
			" it may be one client or thousands; run 'edgeguard explain' for an address in it, and block it by hand if it is one client",
			c.Key, c.Count, c.Limit, c.Rule, c.Wide))
	case c.FrontDoor != "":
		n.alarms.Happened(c.Time, alarm.FrontDoor, c.Rule, c.Key.String()+" exceeded the limit of rule "+c.Rule+
			" and is not blocked: its source shows "+frontdoor.Whose(c.FrontDoor)+" only. "+frontdoor.Fix+". To block it now: edgeguard blocks add "+c.Key.Prefix.String())
	case c.Action == edgeguard.ActionAlarm:
		n.alarms.Happened(c.Time, alarm.Spared, c.Rule, c.Key.String()+" exceeded the limit of rule "+c.Rule+
			" and is not blocked: the evidence can be forged, or the address must not be blocked")
	default:
		n.journal.add(entry{crossing: &c})
	}
}
