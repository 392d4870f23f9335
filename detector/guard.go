package detector

import (
	"net/netip"
	"slices"
	"sync"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/detector/outage"
	"edgeguard/rules"
)

const (
	// mostHosts is how many of the site's names have a scope of their own; the rest of the
	// scopes are the sources'. The hosts of other names are in the scope of their source: a
	// client that makes up hosts makes no scopes.
	mostHosts = 48
	// liftBack is how long before a site was found to fail the blocks are lifted that its
	// failures may have made.
	liftBack = 2 * time.Minute
	// mostMade is how many blocks and denials of the last liftBack are remembered.
	mostMade = 4096
	// behind is how far behind the clock the guard's may fall while nothing is answered.
	behind = 2 * time.Minute
	// siteFailed is the reason of the records that lift blocks.
	siteFailed = "the site failed"
)

// guard finds out while the site fails, by its answers, so that what clients do then is
// not counted against them. It is nil where no meter goes by the status. A reload keeps
// it. It is safe for concurrent use.
type guard struct {
	own   *rules.Hosts
	hosts int // how many of own have a scope

	mu    sync.Mutex // guards all below
	core  *outage.Guard
	turns []Turn // of the last look, not told yet
	made  []made // blocks of guarded rules, and what they deny, the oldest first
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

// made is a block that a guarded rule made, and the step on which its key had stood; or a
// key that one began to deny.
type made struct {
	rule   string
	prefix netip.Prefix
	addr   netip.Addr // who must have succeeded for this to be taken back
	since  time.Time
	before Step
}

// newGuard returns the guard of a config: that of the detector before if the scopes are
// the same.
func newGuard(c *Config) *guard {
	isGuarded := false
	for i := range c.Rules.Meters {
		isGuarded = isGuarded || c.Rules.Meters[i].Guarded()
	}
	if !isGuarded {
		return nil
	}
	if old := c.Previous; old != nil && old.guard != nil && old.guard.own.Same(c.Own) {
		return old.guard
	}
	g := &guard{own: c.Own, hosts: min(c.Own.Len(), mostHosts), core: outage.New(c.Seed)}
	g.core.Armed = func(scope uint8, sec uint32) { g.turn(scope, sec, true) }
	g.core.Disarmed = func(scope uint8, sec uint32) { g.turn(scope, sec, false) }
	return g
}

// turn notes that a scope is armed or not from a second on. It needs the lock.
func (g *guard) turn(scope uint8, sec uint32, armed bool) {
	g.turns = append(g.turns, Turn{g.partOf(scope), armed, time.Unix(int64(sec), 0).UTC()})
}

// scope returns the number of an event's scope.
func (g *guard) scope(ev *edgeguard.Event) uint8 {
	if g.hosts > 0 && ev.Known&edgeguard.FieldHost != 0 {
		if i, ok := g.own.Which(ev.Host); ok && i < g.hosts {
			return uint8(i)
		}
	}
	return uint8(min(g.hosts+int(ev.Source), outage.MostScopes-1))
}

// partOf is the scope of a number.
func (g *guard) partOf(number uint8) SitePart {
	if n := int(number); n >= g.hosts {
		return SitePart{Source: uint8(n - g.hosts)}
	}
	return SitePart{Host: int(number) + 1}
}

// see shows the core an answer, and reports whether what it says of its client is held
// back. Of a client that a list refuses nothing is shown: we answered. It needs the lock.
func (g *guard) see(ev *edgeguard.Event, at moment, refused bool, a answer) (held bool) {
	switch {
	case !refused && a != otherFailure:
		return g.core.See(g.scope(ev), at.eventSec, ev.Addr, a == success) && a == failure
	case a != success:
		return g.core.Held(g.scope(ev), at.eventSec)
	}
	return false
}

// take returns the turns that were not told yet, and whether a scope was armed by one. It
// needs the lock.
func (g *guard) take() (turns []Turn, armed bool) {
	turns, g.turns = g.turns, nil
	for i := range turns {
		armed = armed || turns[i].Armed
	}
	return turns, armed
}

// note remembers a block that a guarded rule made, or that it begins to deny a key.
func (g *guard) note(m made) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.made) >= 2*mostMade {
		g.made = append(g.made[:0], g.made[len(g.made)-mostMade:]...)
	}
	g.made = append(g.made, m)
}

// harmed returns the blocks to be lifted at the instant now at which a scope was armed:
// the later ones of addresses that had succeeded, the last first, so that of one key the
// step before the first of them stays. The others are forgotten.
func (g *guard) harmed(now time.Time) (out []made) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, m := range slices.Backward(g.made) {
		if now.Sub(m.since) <= liftBack && g.core.Succeeded(m.addr, seconds(now)) {
			out = append(out, m)
		}
	}
	g.made = g.made[:0]
	return out
}

// pass lets the core's clock follow the node's: where nothing is answered nothing fails.
func (g *guard) pass(now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.core.See(outage.MostScopes, seconds(now.Add(-behind)), netip.IPv4Unspecified(), false)
}

// saw has the event shown to the guard, and notes whether its client's failure is held
// back.
func (c *decision) saw(a answer) {
	g := c.d.guard
	g.mu.Lock()
	c.held = g.see(c.event, c.moment, c.standing == blocklist.Blocked, a)
	turned := len(g.turns) > 0
	g.mu.Unlock()
	if turned {
		c.d.turned(c.now)
		c.look() // its block may be lifted
	}
}

// turned tells of the scopes that were armed or disarmed, and lifts blocks if one was
// armed.
func (d *Detector) turned(now time.Time) {
	d.guard.mu.Lock()
	turns, armed := d.guard.take()
	d.guard.mu.Unlock()
	if hear := d.config.Turned; hear != nil {
		for _, t := range turns {
			hear(t)
		}
	}
	if armed {
		for _, m := range d.guard.harmed(now) {
			d.lift(now, m)
		}
	}
}

// lift takes back a block that a failing site may have made, as an operator's unblock
// does. What guarded rules counted of the key is forgotten, or its next failure would block
// it again: by this rule, or by another that crossed while it was blocked. So is the step
// that the block took. That is so too where the block has ended.
func (d *Detector) lift(now time.Time, m made) {
	i, known := d.named[m.rule]
	if !known {
		return
	}
	if b := d.config.List.Of(now, m.prefix); b != nil && b.Rule == m.rule && b.Since.Equal(m.since) {
		d.config.List.Lift(m.prefix, now, siteFailed, d.config.Node)
	}
	r := &d.rules[i]
	if hear := d.config.Lifted; hear != nil {
		hear(now, r.Name, m.prefix)
	}
	source := d.source(r, m.prefix)
	source.table.Clear(m.prefix.Addr(), "")
	d.crossings.forget(crossingKey{rule: r.Name, prefix: m.prefix})
	for k := range d.meters {
		d.meters[k].pardon(d, m.prefix)
	}
	if len(r.Escalate) > 0 {
		m.before.Counted = 0 // it was just forgotten
		d.steps.undo(r.Name, m.prefix, m.before)
	}
}

// pardon forgets what the meter counted of a key, if the meter is guarded.
func (m *meter) pardon(d *Detector, prefix netip.Prefix) {
	if m.side == nil || len(m.Attributes) > 0 || m.Key(prefix.Addr(), "").Prefix != prefix {
		return
	}
	m.proven.Clear(prefix.Addr(), "")
	for _, i := range m.rules {
		d.crossings.forget(crossingKey{rule: d.rules[i].Name, prefix: prefix})
	}
}

// Outage is what is known of one scope.
type Outage struct {
	Part SitePart
	outage.State
}

// Outages returns what is known of each scope that had an answer, and how many answers
// came too late to be looked at; nil where no rule is guarded.
func (d *Detector) Outages() (all []Outage, late uint64) {
	g := d.guard
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
	g := d.guard
	if g == nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.core.Fails()
}

// Guards reports whether a rule goes by the status, so that it matters whether the site
// fails.
func (d *Detector) Guards() bool { return d.guard != nil }
