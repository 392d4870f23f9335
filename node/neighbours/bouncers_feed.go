package neighbours

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"sync"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/crowdsec/lapi"
	"edgeguard/node/alarm"
)

const (
	// mostPending bounds the changes that wait for the journal: with more, the whole
	// list is read again.
	mostPending = 10_000
	// readAgain is how often the whole list is read where nothing asked for it.
	readAgain = 10 * time.Minute
)

// crowdSec is the source of imported blocks that came from CrowdSec: bouncers can have
// them from there.
const crowdSec = "crowdsec"

// served reports whether bouncers are given the blocks of a source.
func served(source string) bool { return source != crowdSec }

// BouncerBacklog is the prefixes that may have other blocks than the journal has. It is safe for
// concurrent use.
type BouncerBacklog struct {
	mu      sync.Mutex // guards all below
	runs    bool       // there is a feed
	whole   bool       // the list is to be read
	pending map[netip.Prefix]struct{}
	wake    chan struct{}
}

// newBacklog returns a backlog that nothing reads yet.
func newBacklog() *BouncerBacklog {
	return &BouncerBacklog{pending: make(map[netip.Prefix]struct{}), wake: make(chan struct{}, 1)}
}

// Changed notes that other blocks of some prefixes are in force, and waits for nothing.
func (c *BouncerBacklog) Changed(prefixes ...netip.Prefix) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.runs || c.whole {
		return
	}
	for _, p := range prefixes {
		c.pending[p] = struct{}{}
	}
	if len(c.pending) > mostPending {
		c.all()
	}
	c.signal()
}

// Refresh has the whole list read again.
func (c *BouncerBacklog) Refresh() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.runs {
		c.all()
		c.signal()
	}
}

func (c *BouncerBacklog) all() {
	c.whole = true
	clear(c.pending)
}

func (c *BouncerBacklog) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// begin has changes noted, or not.
func (c *BouncerBacklog) begin(runs bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.runs = runs
	c.all()
	c.signal()
}

// take returns what is to be done, and forgets it.
func (c *BouncerBacklog) take() (whole bool, pending map[netip.Prefix]struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	whole, pending = c.whole, c.pending
	c.whole, c.pending = false, make(map[netip.Prefix]struct{})
	return whole, pending
}

// bouncerFeed keeps the journal in step with the blocklist, as a service of the node.
type bouncerFeed struct {
	BouncerDeps
	backlog *BouncerBacklog
	journal *lapi.Journal
	filled  func() // is called when the journal has everything
}

func (*bouncerFeed) Key() string             { return "bouncers" }
func (*bouncerFeed) Alarm() (string, string) { return alarm.Listen, "bouncers" }
func (*bouncerFeed) Report(*admin.Stats)     {}

// Run keeps the journal in step until ctx is done.
func (f *bouncerFeed) Run(ctx context.Context, ready func()) error {
	f.backlog.begin(true)
	defer f.backlog.begin(false)
	again := time.NewTicker(readAgain)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-f.backlog.wake:
		case <-again.C:
			f.backlog.Refresh()
		}
		if f.pass() {
			f.filled()
			ready()
		}
	}
}

// pass passes what changed to the journal. It reports whether that was everything.
func (f *bouncerFeed) pass() (whole bool) {
	now := f.Clock.Now()
	whole, pending := f.backlog.take()
	if whole || f.Blocks.Current().Monitor {
		f.journal.Replace(now, slices.Values(f.live(now)), slices.Values(f.ended()))
		return true
	}
	for p := range pending {
		b := f.Blocks.At(p, now, served, true) // what all bouncers may have, where there is both
		f.journal.SetDecision(now, decision(&b), !b.Lifted)
	}
	return false
}

// live returns what is in force, each prefix once: of the list, or imported. Where one of
// the two was learned behind a proxy it is the other, and else the longer.
func (f *bouncerFeed) live(now time.Time) (all []lapi.Decision) {
	for b := range f.Blocks.All(now, served) {
		all = append(all, decision(&b))
	}
	slices.SortFunc(all, func(a, b lapi.Decision) int {
		return cmp.Or(a.Prefix.Addr().Compare(b.Prefix.Addr()), cmp.Compare(a.Prefix.Bits(), b.Prefix.Bits()), compareBool(a.Proxied, b.Proxied), b.Until.Compare(a.Until))
	})
	return slices.CompactFunc(all, func(a, b lapi.Decision) bool { return a.Prefix == b.Prefix })
}

// compareBool orders false before true.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// ended returns the blocks that were taken back, or all in mode monitor: bouncers may have
// them from before a restart.
func (f *bouncerFeed) ended() (all []lapi.Decision) {
	monitor := f.Blocks.Current().Monitor
	for b := range f.Blocks.List.Records() {
		if !b.Allow && (b.Lifted || monitor) {
			all = append(all, decision(&b))
		}
	}
	return all
}

func decision(b *edgeguard.Block) lapi.Decision {
	return lapi.Decision{Prefix: b.Prefix, Rule: b.Rule, Until: b.Until, Proxied: b.Proxied}
}
