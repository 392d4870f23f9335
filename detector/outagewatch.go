package detector

import (
	"cmp"
	"net/netip"
	"slices"
	"sync"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/detector/outage"
	"edgeguard/rules"
	"edgeguard/shard"
)

const (
	// mostHosts is how many of the site's names have a scope of their own; the rest of the
	// scopes are the sources'. The hosts of the other names are in the scope of their source.
	mostHosts = 48
	// liftBack is how long before a site was found to fail the blocks are lifted that its
	// failures may have made.
	liftBack = 2 * time.Minute
	// mostMade is how many blocks and denials of the last liftBack are remembered.
	mostMade = 4096
	// foreign is the scope of what names a host that is none of ours: it never fails.
	foreign = outage.MostScopes
	// behind is how far behind the clock the watch's may fall while nothing is answered.
	behind = 2 * time.Minute
)

// outageWatch finds out while the site fails, by its answers, so that what clients do then is
// not counted against them. It is nil where no meter goes by the status. A reload keeps
// it. It is safe for concurrent use.
type outageWatch struct {
	own    *rules.Hosts
	hosts  int // how many of own have a scope
	travel *travel
	most   uint32 // that a client is spared in a day, as in spared

	mu     sync.Mutex // guards all below
	core   *outage.Watch
	turns  []Turn // of the last look, not told yet
	begun  uint64 // which scopes were armed by these, a bit each
	spared spared
	failed failed
	made   []made // blocks of excusing rules, and what they deny, the oldest first
	late   []lateCrossing
}

// Turn is a scope that begins or ends to be armed.
type Turn struct {
	Part  SitePart
	Armed bool
	// Since is the first second that is.
	Since time.Time
}

// SitePart is a part of the site that fails, or not, for itself.
type SitePart struct {
	// Host is which of the names of [Config.Own] it is, from 1; 0 for a source.
	Host int
	// Source is which source it is ([edgeguard.Event.Source]), for all that name no host
	// of ours. The greatest stands for all from it on.
	Source uint8
}

// made is a block that an excusing rule made, and the step on which its key had stood; or a
// key that one began to deny.
type made struct {
	rule   string
	prefix netip.Prefix
	addr   netip.Addr // who must have succeeded for this to be taken back
	since  time.Time
	before Step
	scope  uint8 // of the event that crossed
}

// newOutageWatch returns the watch of a config: that of the detector before if the scopes are
// the same.
func newOutageWatch(c *Config) *outageWatch {
	isGuarded := false
	for i := range c.Rules.Meters {
		isGuarded = isGuarded || c.Rules.Meters[i].SparesOutages()
	}
	if !isGuarded {
		return nil
	}
	if old := c.Previous; old != nil && old.outages != nil && old.outages.own.SameNames(c.Own) {
		return old.outages
	}
	g := &outageWatch{own: c.Own, hosts: min(c.Own.Len(), mostHosts), core: outage.New(c.Seed), travel: newTravel(c), most: uint32(cmp.Or(c.Spared, SparedLimits)) * sparedUnit}
	g.spared.seed = c.Seed
	g.core.Armed = func(scope uint8, sec uint32) { g.noteTurn(scope, sec, true) }
	g.core.Disarmed = func(scope uint8, sec uint32) { g.noteTurn(scope, sec, false) }
	return g
}

// noteTurn notes that a scope is armed or not from a second on. It needs the lock.
func (g *outageWatch) noteTurn(scope uint8, sec uint32, armed bool) {
	if armed {
		g.begun |= 1 << scope
	}
	g.turns = append(g.turns, Turn{g.partOf(scope), armed, time.Unix(int64(sec), 0).UTC()})
}

// scopeOf returns the number of an event's scope; foreign for one that names a host which is
// none of ours: hardly anybody visits it, so that a few strangers could have it fail. Who
// names no host is not foreign: logs without one would have no scope.
func (g *outageWatch) scopeOf(ev *edgeguard.Event) uint8 {
	if g == nil {
		return noScope
	}
	if g.hosts > 0 && ev.Known&edgeguard.FieldHost != 0 && ev.Host != "" {
		switch i, own := g.own.Which(ev.Host); {
		case !own:
			return foreign
		case i < g.hosts:
			return uint8(i)
		}
	}
	return uint8(min(g.hosts+int(ev.Source), outage.MostScopes-1))
}

// partOf is the scope of a number.
func (g *outageWatch) partOf(number uint8) SitePart {
	if n := int(number); n >= g.hosts {
		return SitePart{Source: uint8(n - g.hosts)}
	}
	return SitePart{Host: int(number) + 1}
}

// judgeAnswer shows the core an answer, and reports whether what it says of its client is
// excused. Of a client that a list refuses nothing is shown: we answered. It needs the lock.
func (g *outageWatch) judgeAnswer(scope uint8, addr netip.Addr, at moment, refused bool, a answer) (excused bool) {
	switch {
	case !refused && a != otherFailure:
		return g.core.CountAnswer(scope, at.eventSec, addr, a == success) && a == failure
	case a != success:
		return g.core.IsExcused(scope, at.eventSec)
	}
	return false
}

// takeTurns returns the turns that were not told yet, and which scopes were armed by them. It
// needs the lock.
func (g *outageWatch) takeTurns() (turns []Turn, armed uint64) {
	turns, armed, g.turns, g.begun = g.turns, g.begun, nil, 0
	return turns, armed
}

// rememberBlock remembers a block that an excusing rule made, or that it begins to deny a key.
func (g *outageWatch) rememberBlock(m made) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.made) >= 2*mostMade {
		g.made = append(g.made[:0], g.made[len(g.made)-mostMade:]...)
	}
	g.made = append(g.made, m)
}

// takeHarmed returns the blocks to be lifted at the instant now at which scopes were armed: the
// later ones of addresses that had succeeded, by events of these scopes or by what a fleet
// counted; the last first, so that of one key the step before the first of them stays. They
// and the older ones are forgotten.
func (g *outageWatch) takeHarmed(now time.Time, scopes uint64) (out []made) {
	g.mu.Lock()
	defer g.mu.Unlock()
	recent := g.made[:0]
	for _, m := range g.made {
		switch {
		case now.Sub(m.since) > liftBack:
		case m.scope != noScope && scopes>>m.scope&1 == 0:
			recent = append(recent, m)
		case g.core.Succeeded(m.addr, seconds(now)):
			out = append(out, m)
		}
	}
	g.made = recent
	slices.Reverse(out)
	return out
}

// followClock lets the core's clock follow the node's: where nothing is answered nothing fails.
func (g *outageWatch) followClock(now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.core.CountAnswer(outage.MostScopes, seconds(now.Add(-behind)), netip.IPv4Unspecified(), false)
}

// watchAnswer shows the event to the outage watch, and notes whether its client's failure is
// excused.
func (c *counting) watchAnswer(a answer) {
	g := c.d.outages
	c.scope, c.fails = g.scopeOf(c.event), a != success
	g.mu.Lock()
	c.excused = g.judgeAnswer(c.scope, c.event.Addr, c.moment, c.standing == blocklist.Blocked, a)
	turned := len(g.turns) > 0
	g.mu.Unlock()
	c.excused = c.excused && g.maySpare(c.event.Addr, c.nowSec)
	if turned {
		c.d.tellTurns(c.now)
		c.askLists() // its block may be lifted
	}
}

// tellTurns tells of the scopes that were armed or disarmed, and lifts blocks if one was
// armed.
func (d *Detector) tellTurns(now time.Time) {
	d.outages.mu.Lock()
	turns, armed := d.outages.takeTurns()
	d.outages.mu.Unlock()
	if hear := d.config.Turned; hear != nil {
		for _, t := range turns {
			hear(t)
		}
	}
	if armed != 0 {
		d.excuseLate(now, armed)
		taken := make(map[netip.Prefix]bool)
		for _, m := range d.outages.takeHarmed(now, armed) {
			if taken[m.prefix] {
				d.takeBackBlock(now, now.Add(-liftBack), m, 0) // what failed was taken with another block of the key
			} else {
				taken[m.prefix] = d.takeBackBlock(now, now.Add(-liftBack), m, armed)
			}
		}
	}
}

// madeOf returns the remembered block of what was sent.
func (g *outageWatch) madeOf(s sent) (m made, known bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, m := range g.made {
		if m.prefix == s.prefix && m.since.Equal(s.since) {
			return m, true
		}
	}
	return m, false
}

// takeBackBlock takes back a block that a failing site may have made, with what excusing rules
// counted of the key by failures of these scopes from an instant on: or its next failure
// would block it again, by this rule or by another that crossed while it was blocked. The step
// that the block took is forgotten, also where the block has ended. A key that is over its limit
// without that, or that was spared all that it may be in a day, stays blocked: then it is false.
func (d *Detector) takeBackBlock(now, from time.Time, m made, scopes uint64) bool {
	i, known := d.named[m.rule]
	if !known {
		return false
	}
	r, sec := &d.rules[i], seconds(now)
	own := d.source(r, m.prefix)
	takesBack := func(s source) back {
		return s.takesBack(m.prefix.Addr(), sec, seconds(from), d.outages.failedOf(s.meter, m.prefix, scopes, seconds(from)))
	}
	all := []back{takesBack(own)}
	if all[0].keeps > own.limit {
		return false
	}
	for k := range d.meters {
		if o := &d.meters[k]; o.pardons(m.prefix) && o.proven != own.table {
			all = append(all, takesBack(source{meter: o, table: o.proven, limit: o.limit}))
		}
	}
	most := uint32(0)
	for k := range all {
		most = max(most, shareOf(all[k].taken+d.restOf(all[k].meter, m.prefix.Addr(), sec), all[k].limit))
	}
	if !d.outages.spend(m.addr, sec, most) {
		return false
	}
	if b := d.config.List.BlockOf(now, m.prefix); b != nil && b.Rule == m.rule && b.Since.Equal(m.since) {
		d.config.List.Lift(m.prefix, now, edgeguard.SiteFailed, d.config.Node)
	}
	if hear := d.config.Lifted; hear != nil {
		hear(now, r.Name, m.prefix)
	}
	for k := range all {
		all[k].apply(m.prefix)
		for _, n := range all[k].meter.rules {
			d.crossings.forget(crossingKey{rule: d.rules[n].Name, prefix: m.prefix})
		}
	}
	if len(r.Escalate) > 0 {
		m.before.Counted = min(m.before.Counted, all[0].leaves(seconds(m.before.Since)))
		d.steps.restoreStep(r.Name, m.prefix, m.before)
	}
	return true
}

// restOf is what the rest of a fleet counted of a meter's key, and forgets as a block is
// lifted here, whatever it came from. See [Detector.Pardon].
func (d *Detector) restOf(m *meter, addr netip.Addr, sec uint32) uint32 {
	if d.config.Rest == nil || !m.fleet {
		return 0
	}
	question, slot := d.questions.borrow(), m.slotAt(sec)
	question.op = shard.Op{Addr: addr, Now: slot, Slot: slot}
	rest := d.config.Rest(m.index, &question.op, m.proven.Count(addr, "", slot))
	d.questions.giveBack(question)
	return rest
}

// Pardon forgets what excusing rules counted of a prefix whose block another node has taken
// back because the site failed there, and the step of the rule that the block was.
func (d *Detector) Pardon(now time.Time, rule string, prefix netip.Prefix) {
	if i, known := d.named[rule]; known && !d.meters[d.rules[i].Meter].Everybody {
		d.source(&d.rules[i], prefix).table.Clear(prefix.Addr(), "")
	}
	for k := range d.meters {
		d.meters[k].pardon(d, prefix)
	}
	d.steps.takeBack(rule, prefix, now)
}

// pardon forgets what the meter counted of a key, if the meter is excusing.
func (m *meter) pardon(d *Detector, prefix netip.Prefix) {
	if !m.pardons(prefix) {
		return
	}
	m.proven.Clear(prefix.Addr(), "")
	for _, i := range m.rules {
		d.crossings.forget(crossingKey{rule: d.rules[i].Name, prefix: prefix})
	}
}

// pardons reports whether a lift of a prefix takes back what the meter counted of it.
func (m *meter) pardons(prefix netip.Prefix) bool {
	return m.aside != nil && m.CountsAddresses() && m.Key(prefix.Addr(), "").Prefix == prefix
}

// Outage is what is known of one scope.
type Outage struct {
	Part SitePart
	outage.State
}

// Outages returns what is known of each scope that had an answer, and how many answers
// came too late to be looked at; nil where no rule is excusing.
func (d *Detector) Outages() (all []Outage, late uint64) {
	g := d.outages
	if g == nil {
		return nil, 0
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, s := range g.core.State() {
		all = append(all, Outage{g.partOf(s.Scope), s})
	}
	return all, g.core.Late
}

// Fails reports whether a part of the site fails now. Unlike Outages it counts no visitors
// while events wait.
func (d *Detector) Fails() bool {
	g := d.outages
	if g == nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.core.Fails()
}

// SparesOutages reports whether a rule goes by the status, so that it matters whether the site
// fails.
func (d *Detector) SparesOutages() bool { return d.outages != nil }
