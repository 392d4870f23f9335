package detector

import (
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"edgeguard"
)

const (
	// travelSingly is how many blocks a minute that a failing site may have made go to
	// the other nodes at once: of a scanner that had read a page, and not of all
	// visitors of a node that is broken. While the visitors of the scope are gone they are
	// so many in sentFor: a broken node would send two each minute.
	travelSingly = 2
	// sentFor is how long a block that went at once is remembered: as long as it takes
	// until the mean of the visitors has forgotten them, too.
	sentFor = 30 * time.Minute
	// travelAfter is how long the others wait, by the watch's clock: so long it takes
	// the watch to find out that a site fails.
	travelAfter = uint32(time.Minute / time.Second)
	// noScope is the scope of a block that no event of this node made.
	noScope = foreign + 1
)

// travel is which blocks of excusing rules are kept from the other nodes, because this
// node may be broken: for a minute, or for good where its visitors are gone then. Only
// those of addresses that had succeeded here are. It is safe for concurrent use.
//
// A restart forgets it, as it does who succeeded. What was blocked in the minute before
// waits for the rest of its minute; what was kept for good travels.
type travel struct {
	began uint32 // seconds: blocks of before are not known

	mu    sync.Mutex // guards all below
	sent  []sent     // what went at once in the last sentFor, the oldest first
	waits map[netip.Prefix]wait
}

// sent is a block that went to the other nodes at once.
type sent struct {
	prefix netip.Prefix
	since  time.Time
	scope  uint8
}

// wait is a block that does not travel now.
type wait struct {
	rule  string
	since time.Time
	until time.Time // of the block as it was made
	scope uint8
	kept  bool // for good
}

// newTravel returns that of a config. What the detector before knows waits on, as of no
// scope: the new watch has seen nobody yet.
func newTravel(c *Config) *travel {
	t := &travel{began: seconds(c.Began)}
	if old := c.Previous; old != nil && old.outages != nil {
		old.outages.travel.mu.Lock()
		defer old.outages.travel.mu.Unlock()
		t.sent, t.waits = slices.Clone(old.outages.travel.sent), maps.Clone(old.outages.travel.waits)
		for i := range t.sent {
			t.sent[i].scope = noScope
		}
		for prefix, w := range t.waits {
			w.scope = noScope
			t.waits[prefix] = w
		}
	}
	return t
}

// is reports whether a block is the one that waits.
func (w *wait) is(b *edgeguard.Block) bool {
	return !b.Lifted && b.Rule == w.rule && b.Since.Equal(w.since)
}

// note decides whether a block that is about to be made travels at once. The address had
// succeeded. Slumps says that the visitors of its scope are gone now. More than fit travel:
// they cost others less than a list without bound.
func (t *travel) note(prefix netip.Prefix, w wait, slumps bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sent = slices.DeleteFunc(t.sent, func(s sent) bool { return w.since.Sub(s.since) >= sentFor })
	n := len(t.sent)
	if n < travelSingly || !slumps && w.since.Sub(t.sent[n-travelSingly].since) >= time.Minute {
		t.sent = append(t.sent, sent{prefix, w.since, w.scope})
		return
	}
	t.add(prefix, w)
}

// wrong returns what went at once within liftBack before a block that stays for good, and was
// made by the same scope: the site that made it was failing then. It is forgotten as such,
// and goes on to count for how much may go at once. It needs the lock.
func (t *travel) wrong(stays wait) (out []sent) {
	for i := range t.sent {
		if s := &t.sent[i]; s.scope == stays.scope && stays.since.Sub(s.since) <= liftBack {
			out = append(out, *s)
			s.scope = noScope
		}
	}
	return out
}

// add needs the lock.
func (t *travel) add(prefix netip.Prefix, w wait) {
	if t.waits == nil {
		t.waits = make(map[netip.Prefix]wait)
	}
	if _, known := t.waits[prefix]; known || len(t.waits) < mostMade {
		t.waits[prefix] = w
	}
}

// mayTravel notes a block that an excusing rule is about to make, before the list tells of
// it.
func (d *Detector) mayTravel(b *edgeguard.Block, scope uint8) {
	g := d.outages
	g.mu.Lock()
	succeeded := g.core.Succeeded(b.Prefix.Addr(), seconds(b.Since))
	slumps := succeeded && g.core.Slumps()>>scope&1 != 0
	g.mu.Unlock()
	if succeeded {
		g.travel.note(b.Prefix, wait{rule: b.Rule, since: b.Since, until: b.Until, scope: scope}, slumps)
	}
}

// Waits reports whether a block of this node is not to be sent to the others: it may be
// the work of a site that fails here, and no attacker's. See [Detector.Travels].
func (d *Detector) Waits(b *edgeguard.Block) bool {
	if d.outages == nil || b.Lifted || b.Allow {
		return false
	}
	t := d.outages.travel
	t.mu.Lock()
	defer t.mu.Unlock()
	if w, known := t.waits[b.Prefix]; known {
		return w.is(b)
	}
	since := seconds(b.Since)
	if b.Origin != d.config.Node || since >= t.began || since+travelAfter <= t.began || !d.goesByStatus(b.Rule) || d.outages.past(since+travelAfter) {
		return false
	}
	t.add(b.Prefix, wait{rule: b.Rule, since: b.Since, until: b.Until, scope: noScope})
	return true
}

// past reports whether the watch's clock has come to a second.
func (g *outageWatch) past(sec uint32) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.core.Clock() >= sec
}

// goesByStatus reports whether a rule goes by the status.
func (d *Detector) goesByStatus(rule string) bool {
	i, known := d.named[rule]
	return known && d.meters[d.rules[i].Meter].aside != nil
}

// Travels returns the blocks that have waited and are to be sent to the other nodes now.
// One whose minute is over stays here for good where the visitors of its scope are gone:
// too few of them to call it an outage, but enough that they are missed. Those that had
// been sent before it are lifted then, here as everywhere: here alone they would have to
// be two records of one prefix. Call it about once a second.
func (d *Detector) Travels(now time.Time) (all []edgeguard.Block) {
	if d.outages == nil {
		return nil
	}
	all, wrong := d.judgeWaiting(now)
	for _, s := range wrong {
		if m, known := d.outages.madeOf(s); known {
			scopes := uint64(1) << m.scope
			if m.scope == noScope {
				scopes = ^uint64(0)
			}
			d.takeBackBlock(now, s.since.Add(-liftBack), m, scopes)
		}
	}
	return all
}

// judgeWaiting returns what is to be sent, and what ought not to have been.
func (d *Detector) judgeWaiting(now time.Time) (all []edgeguard.Block, wrong []sent) {
	g, t := d.outages, d.outages.travel
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.waits) == 0 {
		return nil, nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	slumps := g.core.Slumps()
	for prefix, w := range t.waits {
		over := g.core.Clock() >= seconds(w.since)+travelAfter
		if !over || w.kept && now.Before(w.until) {
			continue
		}
		b := d.config.List.BlockOf(now, prefix)
		switch {
		case b == nil || !w.is(b):
		case slumps>>w.scope&1 != 0 || w.kept: // one that is kept was extended
			wrong = append(wrong, t.wrong(w)...)
			w.kept, w.until = true, b.Until
			t.waits[prefix] = w
			continue
		default:
			all = append(all, *b)
		}
		delete(t.waits, prefix)
	}
	return all, wrong
}

// Staying returns how many blocks of this node are not sent to the others.
func (d *Detector) Staying() int {
	if d.outages == nil {
		return 0
	}
	d.outages.travel.mu.Lock()
	defer d.outages.travel.mu.Unlock()
	return len(d.outages.travel.waits)
}
