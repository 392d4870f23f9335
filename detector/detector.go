// Package detector decides events. It asks the blocklist whether an address is exempt or
// blocked already, counts the event in every meter that matches, compares each count with the
// limits of the meter's rules, and turns a crossing into a block.
//
// It is pure: now is an argument, nothing is logged, no goroutine is started. It
// reports to the functions of its [Config].
package detector

import (
	"net/netip"
	"sync/atomic"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/blocklist/imported"
	"edgeguard/frontdoor"
	"edgeguard/rules"
	"edgeguard/shard"
)

// Config says what a detector decides by.
type Config struct {
	// Rules are the compiled rules; they do not change while it lives.
	Rules *rules.Set
	// Memory is the budget that the meters' tables share.
	Memory *shard.Memory
	// List holds the allowlist, the protected and the blocked. Blocks that the
	// detector makes are merged into it.
	List *blocklist.List
	// Imported is asked about an address of which List says nothing; nil for none.
	Imported *imported.Set
	// Node is the name that blocks and crossings carry if the event names no
	// node.
	Node string
	// Unasked says that no proxy asks before it answers, so that rules that deny refuse nothing.
	Unasked bool
	// Requests says that a source reports requests: an answer alone is then of one of these.
	Requests bool
	// Monitor turns every deny into a shadow.
	Monitor bool
	// RollUp blocks an IPv6 /56 if a quarter of its /64s are blocked.
	RollUp bool
	// Peaks makes the tables keep each key's greatest count.
	Peaks bool
	// Doors tell which addresses are a front door's, and are shown each event; nil spares none.
	// Clients are the networks that are clients nevertheless.
	Doors   *frontdoor.Sources
	Clients []netip.Prefix
	// Past says that the events are recorded ones: of a batch nobody will ask who sent most
	// ([Detector.Sample], [Detector.Dominant]), and each request was answered. A rule that
	// denies by answers refuses one as if a proxy had asked about it before, and not for what
	// its answer then made of the count.
	Past bool
	// Previous is the detector that this one replaces at a reload; nil at the
	// start. The new detector takes over the tables of meters that stayed, with
	// their counts, if Memory and Peaks are the same, and also the statistics and
	// the history of blocks. Both may decide for a while; then call
	// [Detector.Close] on the previous one.
	Previous *Detector
	// Began is when the counters of candidates begin that Previous does not have.
	Began time.Time
	// Seed seeds the tables' hash: random in production, so that no client can
	// choose keys that collide.
	Seed uint64

	// Crossed is called on every crossing, in the order of the events, on the
	// decision path and without a lock held. Nil disables it.
	Crossed func(edgeguard.Crossing)
	// Counted is called on every count: with the index of the meter, the event,
	// the key's count including it, and its cost. Nil disables it.
	Counted func(meter int, event *edgeguard.Event, count, cost uint32)
	// Own is the names of the site, each of which may fail for itself; nil for none. Events
	// of other hosts, and of none, are told apart by their source.
	Own *rules.Hosts
	// Spared is how many limits of failures a client is spared in a day while the site fails,
	// for measurements; 0 for [SparedLimits].
	Spared int
	// Turned is called when a part of the site begins or ends to fail. Lifted is called with
	// the rule and prefix of each block that is taken back for that, before its count is
	// forgotten. Both are called in the order of the events, on the decision path and
	// without a lock held. Nil disables them.
	Turned func(Turn)
	Lifted func(now time.Time, rule string, prefix netip.Prefix)
	// Sample is called with some of the requests of a key: of one near the limit of a
	// rule that refuses, at its crossing, and with each sixteenth that is refused. until
	// is when the block ends, zero for a key that is not blocked; prefix is the block's
	// or the key's. It is called on the decision path without a lock held; event is
	// valid during the call only. Nil disables it, at no cost.
	Sample func(now time.Time, prefix netip.Prefix, event *edgeguard.Event, until time.Time)
	// Gathered is called with each event that brings a key without an address to a count beyond half of a rule's
	// limit, or finds it there, by evidence that cannot be forged: as Sample. with is the key's attributes, and valid during
	// the call only, too. The event is nil if no client made it, but another node, a front door or a verified crawler. Nil disables it.
	Gathered func(now time.Time, rule *rules.Rule, with string, count uint32, event *edgeguard.Event)
	// Fleet is called on every proven count of the meters that have a rule of
	// scope fleet, and returns what the rest of the fleet has counted of the key.
	// Rules of that scope compare the sum with their limits. It is called on the
	// decision path, from many goroutines and without a lock held; op is valid
	// during the call only. Nil disables it, at no cost.
	Fleet func(meter int, op *shard.Op, count uint32) (rest uint32)
	// Rest returns what Fleet would, for a key that is only asked about: nothing is
	// counted. It is set if Fleet is, and called likewise.
	Rest func(meter int, op *shard.Op, count uint32) (rest uint32)
	// Until returns after how many slots from op.Now on the key is at most at a limit in the
	// whole fleet, if nothing more comes: at least, by what is proven, and at most, as far as
	// this node was told. Nil: by the count here alone. It is called likewise.
	Until func(meter int, op *shard.Op, limit uint32) (least, most uint32)
}

// Detector decides events. It is safe for concurrent use.
type Detector struct {
	config       Config
	meters       []meter
	rules        []rule
	idle         idleBatches
	questions    fleetQuestions
	named        map[string]int // rules by name
	exact        bool           // a meter is exact
	exacts       []uint64       // which are, a bit each
	asks         bool           // Decide asks the rules that deny by answers
	denyRequests bool           // a rule denies requests for what it counts of requests
	// indexed says that an event is not asked of every meter.
	indexed bool
	// longest is the longest window.
	longest time.Duration
	// proxied notes which meters of the fleet saw clients behind a proxy.
	proxied []atomic.Bool

	// What outlives a reload.
	statistics *statistics
	steps      *steps
	crossings  *crossings
	lost       *atomic.Bool // the fleet
	// resumed is when the node began to count for the fleet beside what was restored, in
	// nanoseconds since 1970; 0: nothing was.
	resumed *atomic.Int64
	outages *outageWatch // nil where no meter is excusing
}

// New returns a detector. Its tables are empty, except those that it takes over.
func New(c Config) *Detector {
	d := &Detector{config: c, statistics: new(statistics), steps: newSteps(), crossings: newCrossings(),
		lost: new(atomic.Bool), resumed: new(atomic.Int64)}
	if old := c.Previous; old != nil {
		d.statistics, d.steps, d.crossings, d.lost = old.statistics, old.steps, old.crossings, old.lost
		d.resumed = old.resumed
	}
	d.outages = newOutageWatch(&c)
	d.config.Previous = nil // its own tables must not be kept alive
	d.indexed = c.Rules.Indexed()
	d.rules, d.named = make([]rule, len(c.Rules.Rules)), make(map[string]int, len(c.Rules.Rules))
	for i := range c.Rules.Rules {
		d.rules[i] = newRule(&c, &c.Rules.Rules[i])
		d.named[c.Rules.Rules[i].Name] = i
	}
	for _, of := range c.Rules.Unanswered().Rules {
		d.denyRequests = d.denyRequests || !of.Answers && !of.Wide
		d.asks = d.asks || of.Answers && !(c.Past && of.Wide)
	}
	d.exacts = make([]uint64, (len(c.Rules.Meters)+63)/64)
	for i := range c.Rules.Meters {
		d.meters = append(d.meters, newMeter(&c, i))
		d.meters[i].resumed = d.resumed
		if d.meters[i].exact {
			d.exact = true
			d.exacts[i>>6] |= 1 << (i & 63)
		}
		d.longest = max(d.longest, d.meters[i].Window)
	}
	d.proxied = make([]atomic.Bool, len(d.meters))
	return d
}

// LookUpVerdict returns the verdict at now on a request that another source counts: that of the
// blocklist, and of the rules that deny while they are over their limits. It counts nothing,
// not even in the statistics. Of the event, the kind does not matter.
func (d *Detector) LookUpVerdict(now time.Time, event *edgeguard.Event) (v edgeguard.Verdict) {
	var c decision
	c.begin(d, now, event, forClient)
	if len(d.config.Rules.Unanswered().Rules) > 0 {
		c.askRules(&c.listed, true)
	}
	if c.isUnaffected() {
		return v
	}
	return c.verdict()
}

// RefusingHit returns the block that refuses an address; nil for none.
func (d *Detector) RefusingHit(now time.Time, addr netip.Addr) *blocklist.Hit {
	if standing, hit := d.standingOf(now, addr); standing == blocklist.Blocked {
		return hit
	}
	return nil
}

// listless reports whether ask has nothing to say of any address.
func (d *Detector) listless() bool { return d.config.List.Empty() && d.config.Imported.Empty() }

// standingOf returns the standing of an address: what the node's own list says comes first.
func (d *Detector) standingOf(now time.Time, addr netip.Addr) (blocklist.Standing, *blocklist.Hit) {
	standing, hit := d.config.List.FindHit(now, addr)
	if standing == blocklist.None {
		return d.config.Imported.FindHit(now, addr)
	}
	return standing, hit
}

// Decide counts one event at the instant now and returns the verdict on it. The
// count includes the event: with a limit of N, N events pass and the next is
// refused. An event from after now is counted at now; an event older than the
// window is not counted. A request that has no answer yet is refused besides where a rule that
// denies by answers is over its limit, and it meets the rule's terms but the status.
func (d *Detector) Decide(now time.Time, event *edgeguard.Event) (v edgeguard.Verdict) {
	var c decision
	c.begin(d, now, event, forClient)
	if !c.isExempt() {
		if d.asks && c.awaitsAnswer() {
			c.askRules(&c.listed, false)
		}
		c.ours = c.ours || c.refusesRecorded()
		c.countAll()
		if c.over.n > 0 {
			c.judgeCounts()
		}
	}
	if !c.isUnaffected() {
		v = c.finishVerdict()
	}
	d.statistics.noteOne(&c, v.Action)
	return v
}
