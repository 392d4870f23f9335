// Package pipeline decides events by the generation of rules that is in force. A reload
// puts the next generation in its place while events go on.
package pipeline

import (
	"net/netip"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"edgeguard"
	"edgeguard/aggregator"
	"edgeguard/aggregator/member"
	"edgeguard/attack"
	"edgeguard/blocklist"
	"edgeguard/blocklist/imported"
	"edgeguard/config"
	"edgeguard/crawlers"
	"edgeguard/detector"
	"edgeguard/frontdoor"
	"edgeguard/haproxy"
	"edgeguard/node/evidence"
	"edgeguard/rules"
	"edgeguard/shard"
	tuned "edgeguard/tuning/evidence"
)

// Config is what a pipeline is made of. Only Offset, Crossed and Evidence are called
// later.
type Config struct {
	Memory *shard.Memory
	List   *blocklist.List
	// Imported is the blocks of other people's lists; nil for none.
	Imported *imported.Set
	Seed     uint64
	Boot     time.Time                // when this run began, local
	Offset   func() time.Duration     // of the node's clock
	Crossed  func(edgeguard.Crossing) // called on the goroutine that decides
	// Evidence is called with that of each block that a rule made, before Crossed.
	// Nil for none.
	Evidence func(edgeguard.Evidence)
	// Cleared is called when counts were removed: the state that was saved last may
	// still have them. Nil disables it.
	Cleared func()
	// Samples takes requests of keys that are blocked or near a limit; nil for none.
	Samples *evidence.Samples
	// Doors tell which addresses are a front door's; nil: none.
	Doors *frontdoor.Sources
}

// Generation is what a reload replaces in one step.
type Generation struct {
	Config   *config.Config
	Detector *detector.Detector
	Member   *member.Member     // nil for a node alone
	Crawlers *crawlers.Crawlers // nil for none
	Columns  *haproxy.Columns   // what HAProxies count for the rules
	Digest   string             // of the rules

	own   *rules.Hosts   // the site's names
	rules map[string]int // by name
	// enforced is since when verdicts are enforced; before it, in mode monitor, lists
	// were empty.
	enforced time.Time

	since map[uint64]uint32 // from which slots the boot pushes, while the node has left its fleet
}

// Pipeline decides. It is safe for concurrent use.
type Pipeline struct {
	made    Config
	scans   sync.RWMutex // held for reading while whole tables of current are read; Replace takes it first
	reload  sync.RWMutex // held for reading while current is used to decide; Replace takes it for one store
	current atomic.Pointer[Generation]
	// Verdicts counts by source, Crossings what the rules did.
	Verdicts, Crossings Counts
	// Answers are what logs say of what was to be refused.
	Answers Answers
	// Sources numbers the sources of answers: in detector.SitePart they have no names.
	Sources SourceNumbers
	// Crowds are who came to the keys without an address.
	Crowds attack.Crowds
	// visits are pages that logs show as served.
	visits *tuned.Visits
	// Flood counts the fresh sources of events that were read in batches.
	Flood *detector.FloodWatch
}

// New makes a pipeline with its first generation.
func New(made Config, c *config.Config) *Pipeline {
	p := &Pipeline{made: made, visits: tuned.NewVisits(), Flood: detector.NewFloodWatch(detector.FloodConfig(c.Floods), made.Seed)}
	p.current.Store(p.make(made.Boot, c, nil))
	p.Answers.Takes.Store(int64(LeastTakes))
	return p
}

// Current returns the generation in force. Take it once per answer: its
// detector numbers rules as its config does.
func (p *Pipeline) Current() *Generation { return p.current.Load() }

// Replace puts a new generation in force, waits for the decisions under way and
// closes the previous one. It waits for the scans before it stops decisions: a
// scan of all tables takes too long for a decision to wait for.
func (p *Pipeline) Replace(now time.Time, c *config.Config) {
	old := p.current.Load()
	next := p.make(now, c, old)
	p.scans.Lock()
	defer p.scans.Unlock()
	p.reload.Lock()
	p.current.Store(next)
	p.reload.Unlock()
	p.Flood.SetConfig(detector.FloodConfig(c.Floods))
	old.Detector.Close(next.Detector)
}

// Memory returns how much of their memory the tables use.
func (p *Pipeline) Memory() shard.MemoryStats { return p.made.Memory.Stats() }

// Samples returns what takes samples of requests; nil for none.
func (p *Pipeline) Samples() *evidence.Samples { return p.made.Samples }

// Sweep frees a sixtieth of the keys that have ended; call it once a second.
func (p *Pipeline) Sweep(now time.Time) {
	p.Current().Detector.Sweep(now, p.Memory().KeyPages/60+16)
}

// Close frees the memory of the last generation.
func (p *Pipeline) Close() { p.current.Load().Detector.Close(nil) }

func (p *Pipeline) make(now time.Time, c *config.Config, before *Generation) *Generation {
	g := &Generation{Config: c, Digest: c.RulesDigest(), own: c.Own(), Columns: haproxy.ColumnsOf(c.Rules), rules: make(map[string]int, len(c.Rules.Rules))}
	for i := range c.Rules.Rules {
		g.rules[c.Rules.Rules[i].Name] = i
	}
	g.enforced = now
	if before != nil && !before.Config.Monitor {
		g.enforced = before.enforced
	}
	g.Crawlers = makeCrawlers(c, before)
	dc := detector.Config{
		Rules: c.Rules, Memory: p.made.Memory, List: p.made.List, Imported: p.made.Imported, Node: c.Node, Unasked: !c.Asked, Requests: c.Requests, Monitor: c.Monitor, RollUp: c.RollUp, Seed: p.made.Seed, Began: now, Crossed: p.crossed, Gathered: p.gathered,
		Own: g.own, Lifted: p.lifted, Doors: p.made.Doors, Clients: c.Clients,
	}
	if p.made.Samples != nil {
		dc.Sample = p.made.Samples.Take
	}
	var counts *aggregator.Totals
	if before != nil {
		dc.Previous, g.since = before.Detector, before.since
		if before.Member != nil {
			counts = before.Member.Totals
		}
	}
	if c.Fleet == nil {
		if counts != nil {
			g.since = counts.Since()
		}
		g.Detector = detector.New(dc)
		return g
	}
	g.Member = member.New(dc, aggregator.Config{
		Boot: p.made.Boot, Offset: p.made.Offset(), Quiet: c.Fleet.Quiet, MaxNodes: c.Fleet.MaxNodes, Nodes: 1,
		Share: c.Fleet.Share, MaxSuspects: c.Fleet.MaxSuspects, Previous: counts, Since: g.since,
	})
	g.since = nil
	g.Detector = g.Member.Detector
	return g
}

// makeCrawlers returns the crawlers of a config: those of the generation before, with
// all that they know, if they are the same.
func makeCrawlers(c *config.Config, before *Generation) *crawlers.Crawlers {
	if len(c.Crawlers) == 0 {
		return nil
	}
	if before != nil && reflect.DeepEqual(before.Config.Crawlers, c.Crawlers) {
		return before.Crawlers
	}
	all, _ := crawlers.New(c.Crawlers, true) // package config has checked them
	return all
}

func (p *Pipeline) crossed(c edgeguard.Crossing) {
	p.Crossings.Of(Ruling{Action: c.Action, Rule: c.Rule, Wide: c.Wide, Excused: c.Excused}).Add(1)
	if c.Action == edgeguard.ActionBlock && !c.Until.IsZero() && p.made.Evidence != nil {
		g := p.current.Load()
		if e, ok := g.Detector.Evidence(&c); ok {
			_, counts := g.Rule(c.Rule)
			e.MayBeCustomer = counts != nil && tuned.CountsLogins(counts) && p.visits.MayBeCustomer(c.Time, c.Key.Prefix)
			p.made.Evidence(e)
		}
	}
	p.made.Crossed(c)
}

// gathered is called with what came to a key without an address, and tells that it is still over its limit.
func (p *Pipeline) gathered(now time.Time, r *rules.Rule, with string, count uint32, ev *edgeguard.Event) {
	if p.Crowds.Note(now, r.Name, with, count, r.Limit, ev) {
		p.made.Crossed(edgeguard.Crossing{
			Time: now, Node: p.current.Load().Config.Node, Rule: r.Name, Key: edgeguard.Key{With: strings.Clone(with)}, Action: r.Action, Count: count, Limit: r.Limit, Threshold: r.Threshold, Again: true,
		})
	}
}

// Crowd returns who came to a key without an address since a time; false if that is not kept.
func (p *Pipeline) Crowd(now time.Time, rule, with string, since time.Time) (came attack.Crowd, found bool) {
	came, found = p.Crowds.Of(now, rule, with, since)
	for i := range came.Members {
		m := &came.Members[i]
		m.MayBeCustomer = p.visits.MayBeCustomer(now, m.Prefix)
	}
	return came, found
}

// MayBeCustomer reports whether pages of the site were served to an address, or to an IPv6 /64, as to a customer.
func (p *Pipeline) MayBeCustomer(now time.Time, prefix netip.Prefix) bool {
	return p.visits.MayBeCustomer(now, prefix)
}

// lifted is called when a block was taken back because the site failed, and what its rule
// had counted was removed.
func (p *Pipeline) lifted(time.Time, string, netip.Prefix) {
	if p.made.Cleared != nil {
		p.made.Cleared()
	}
}

// Decide answers one event: an edgeguard.Decider.
func (p *Pipeline) Decide(now time.Time, event *edgeguard.Event) edgeguard.Verdict {
	p.reload.RLock()
	defer p.reload.RUnlock() // also when a decision panics
	g := p.current.Load()
	g.Crawlers.MarkClient(now, event)
	return g.Detector.Decide(now, event)
}

// LookUp answers by what is known already, see [detector.Detector.LookUpVerdict]: another sensor counts
// the event.
func (p *Pipeline) LookUp(now time.Time, event *edgeguard.Event) edgeguard.Verdict {
	p.reload.RLock()
	defer p.reload.RUnlock()
	g := p.current.Load()
	if len(g.Config.Rules.Unanswered().Rules) > 0 {
		g.Crawlers.MarkClient(now, event)
	}
	return g.Detector.LookUpVerdict(now, event)
}

// Count returns what this node has counted of the key that an event has for a rule, with the
// rule's limit and window; false where there is no such rule, or where it does not count the
// event.
func (p *Pipeline) Count(now time.Time, event *edgeguard.Event, rule string) (count, limit uint32, window time.Duration, ok bool) {
	p.reload.RLock()
	defer p.reload.RUnlock()
	g := p.current.Load()
	i, ok := g.rules[rule]
	if !ok {
		return 0, 0, 0, false
	}
	r := &g.Config.Rules.Rules[i]
	count, ok = g.Detector.Count(now, event, i)
	return count, r.Limit, g.Config.Rules.Meters[r.Meter].Window, ok
}

// Clear removes what was counted of prefixes.
func (p *Pipeline) Clear(now time.Time, prefixes ...netip.Prefix) {
	p.scans.RLock()
	if g := p.current.Load(); g.Member != nil {
		g.Member.Clear(now, prefixes...)
	} else {
		g.Detector.Clear(now, prefixes...)
	}
	p.scans.RUnlock()
	if p.made.Cleared != nil {
		p.made.Cleared()
	}
}

// Forget removes what was counted of a prefix as the tombstone says that another node
// made: all, or what a site that failed there may have made of it.
func (p *Pipeline) Forget(now time.Time, tombstone edgeguard.Block) {
	if !tombstone.Pardons() {
		p.Clear(now, tombstone.Prefix)
		return
	}
	p.scans.RLock()
	if g := p.current.Load(); g.Member != nil {
		g.Member.Pardon(now, tombstone.Rule, tombstone.Prefix)
	} else {
		g.Detector.Pardon(now, tombstone.Rule, tombstone.Prefix)
	}
	p.scans.RUnlock()
	if p.made.Cleared != nil {
		p.made.Cleared()
	}
}

// Over passes a fleet total to the rules. As with a decision, a reload waits for
// it.
func (p *Pipeline) Over(now time.Time, k aggregator.Key, peak uint32, split []aggregator.NodeCount) {
	p.reload.RLock()
	defer p.reload.RUnlock()
	p.current.Load().Member.ApplyFleetCount(now, k, peak, split)
}

// Batches returns a decider of batches for one source, which calls it from one
// goroutine at a time. It returns no verdicts: they are counted. refuses are statuses
// with which the source's server turns clients away, beside the usual ones.
func (p *Pipeline) Batches(source string, refuses ...uint16) func(now time.Time, events []edgeguard.Event) {
	answers, number := p.Answers.source(source), p.Sources.number(source)
	var nows []time.Time
	var verdicts []edgeguard.Verdict
	return func(now time.Time, events []edgeguard.Event) {
		for len(nows) < len(events) {
			nows, verdicts = append(nows, now), append(verdicts, edgeguard.Verdict{})
		}
		for i := range events {
			nows[i] = now
		}
		p.Flood.CountSources(now, events)
		p.reload.RLock()
		defer p.reload.RUnlock()
		g := p.current.Load()
		for i := range events {
			g.Crawlers.MarkClient(now, &events[i])
			events[i].Source = number
			events[i].TurnedAway = treatment(&events[i], refuses) == edgeguard.TurnedAway
		}
		g.Detector.DecideBatch(nows[:len(events)], events, verdicts[:len(events)])
		p.Verdicts.batch(source, g.Detector, events, verdicts[:len(events)])
		for i := range events {
			p.visits.Note(now, &events[i], g.own)
			p.Crowds.Answered(now, &events[i])
		}
		p.answered(g, now, answers, events, verdicts[:len(events)], refuses)
	}
}

// Rule returns a rule and its meter by name; nil if there is none.
func (g *Generation) Rule(name string) (*rules.Rule, *rules.Meter) {
	i, ok := g.rules[name]
	if !ok {
		return nil, nil
	}
	r := &g.Config.Rules.Rules[i]
	return r, &g.Config.Rules.Meters[r.Meter]
}
