// Package detector gives the verdict on an event: it asks the blocklist who is
// spared or blocked already, lets every meter that matches count the event,
// compares each count with the limits of the meter's rules, and turns a
// crossing into a block.
//
// It is pure: now is an argument, nothing is logged, no goroutine is started.
// What it notices it hands to the functions of its [Config].
package detector

import (
	"net/netip"
	"sync/atomic"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
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
	// Node is the name that blocks and crossings carry where the event names
	// none of its own.
	Node string
	// Monitor turns every deny into a shadow.
	Monitor bool
	// RollUp blocks an IPv6 /56 of which a quarter of the /64 are blocked.
	RollUp bool
	// Peaks makes the tables keep each key's greatest count.
	Peaks bool
	// Previous is the detector that this one follows on at a reload; nil at the
	// start. Tables of meters that stayed are taken over with their counts, if
	// Memory and Peaks are the same, and so are the statistics and the memory
	// of who was blocked before. Both may decide while one follows the other;
	// then [Detector.Close] the old one.
	Previous *Detector
	// Seed seeds the tables' hash: random in production, so that nobody can
	// choose keys that collide.
	Seed uint64

	// Crossed hears every crossing, in the order of the events. It is called
	// on the decision path, without any lock held. Nil disables it.
	Crossed func(edgeguard.Crossing)
	// Counted hears every count as it is made: the index of the meter, the
	// event, the key's count with it, and what it added. Nil disables it.
	Counted func(meter int, event *edgeguard.Event, count, cost uint32)
	// Fleet hears every proven count of the meters that have a rule of scope
	// fleet, and gives what the rest of the fleet has counted of the key. Rules
	// of that scope compare the sum with their limits. It is called on the
	// decision path, from many goroutines and without any lock held; op is the
	// detector's and valid during the call only. Nil: no fleet, and no cost.
	Fleet func(meter int, op *shard.Op, count uint32) (rest uint32)
}

// Detector decides events. It is safe for concurrent use.
type Detector struct {
	config Config
	meters []meter
	rules  []rule
	idle   idleBatches
	rooms  rooms
	named  map[string]int // rules by name
	exact  bool           // a meter is
	// longest is the longest window.
	longest time.Duration
	// proxied notes which meters of the fleet saw clients behind a proxy.
	proxied []atomic.Bool

	// What outlives a reload.
	statistics *statistics
	steps      *steps
	crossings  *crossings
	lost       *atomic.Bool // the fleet
}

// New makes a detector, with empty tables but for those that it takes over.
func New(c Config) *Detector {
	d := &Detector{config: c, statistics: new(statistics), steps: newSteps(), crossings: newCrossings(), lost: new(atomic.Bool)}
	if old := c.Previous; old != nil {
		d.statistics, d.steps, d.crossings, d.lost = old.statistics, old.steps, old.crossings, old.lost
	}
	d.config.Previous = nil // its own tables must not be kept alive
	d.rules, d.named = make([]rule, len(c.Rules.Rules)), make(map[string]int, len(c.Rules.Rules))
	for i := range c.Rules.Rules {
		d.rules[i] = newRule(&c, &c.Rules.Rules[i])
		d.named[c.Rules.Rules[i].Name] = i
	}
	for i := range c.Rules.Meters {
		d.meters = append(d.meters, newMeter(&c, i))
		d.exact = d.exact || d.meters[i].exact
		d.longest = max(d.longest, d.meters[i].Window)
	}
	d.proxied = make([]atomic.Bool, len(d.meters))
	return d
}

// Look returns the verdict that the blocklist alone has for addr at now. It
// counts nothing, neither the request nor itself in the statistics: it is for a
// source whose requests another one counts.
func (d *Detector) Look(now time.Time, addr netip.Addr) edgeguard.Verdict {
	standing, hit := d.config.List.Ask(now, addr)
	if standing == blocklist.None {
		return edgeguard.Verdict{}
	}
	c := decision{d: d, now: now, standing: standing, hit: hit, block: hit.Block()}
	v := c.verdict()
	if standing == blocklist.Blocked {
		v.RetryAfter = c.wait(addr)
	}
	return v
}

// Decide counts one event at the instant now and gives the verdict on it. The
// count includes the event: with a limit of N, N events pass and the next is
// refused. An event from after now is counted at now; one from before the
// window is not counted.
func (d *Detector) Decide(now time.Time, event *edgeguard.Event) edgeguard.Verdict {
	var c decision
	c.open(d, now, event)
	c.look()
	c.inline = true
	if !c.spared() {
		c.countAll()
		c.judge()
	}
	v := c.settle()
	if c.standing == blocklist.Blocked {
		v.RetryAfter = c.wait(event.Addr)
	}
	d.statistics.noteOne(&c, v.Action)
	return v
}
