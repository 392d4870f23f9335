// Package tuning computes what other thresholds would have done: how the counts are
// distributed, which keys lead, where a gap separates abusers from everybody else.
//
// An event's count and a key's peak go into a [Tally] as they come; what it
// keeps does not grow with them. [Tally.Outcome] then answers for any
// threshold and [Tally.Suggest] proposes one, with its reason in words.
//
// It decides nothing and changes no rule, and it knows neither files nor
// clocks. Nothing here is safe for concurrent use: give each goroutine a
// Tally and merge them.
package tuning

import (
	"edgeguard"
	"edgeguard/internal/words"
	"edgeguard/rules"
)

// DefaultTop is how many of the highest keys a tally keeps by default: enough to see a gap below a thousand abusers.
const DefaultTop = 4096

// Config says how a tally is kept and how its sentences call things.
type Config struct {
	// Top is how many of the highest keys are kept; 0 means DefaultTop.
	Top int
	// Events is what the events are called in sentences, in the plural; empty
	// means "requests".
	Events string
	// Counted is what counts are of, in sentences; empty means "request", "requests".
	Counted Noun
	// Unit is what one of them adds to a count: sentences divide by it, and what is
	// suggested is a multiple of it where it can be. 0 means 1.
	Unit uint32
	// Keys is what the keys are called; empty means "address", "addresses".
	Keys Noun
	// Live says that keys are recorded as they are at one instant, and no event is:
	// an outcome's events are then what the keys have above the limit now.
	Live bool
	// Most is the greatest limit that is proposed; 0 means edgeguard.MaxLimit.
	Most uint32
}

// Noun is a word in its two numbers.
type Noun struct{ One, Many string }

// Tally is what one meter counted, seen from far enough to judge thresholds.
// Make one with [NewTally].
type Tally struct {
	// Events holds the count of the key at each event, that event included:
	// what is above n is what a limit of n would have refused.
	Events Distribution
	// Peaks holds the greatest count that each key had; of a live tally, its count.
	Peaks Distribution
	// Top holds the keys with the highest peaks.
	Top *Top

	noun    string // what the events are called
	counted Noun
	unit    uint32
	keys    Noun
	live    bool
	most    uint32
}

// People is what is known of those whom a rule must spare.
type People = rules.People

// ConfigOf returns the words and the bounds for what a meter counts.
func ConfigOf(m *rules.Meter) Config {
	c := Config{Events: m.Events(), Counted: Noun{m.Counts(1), m.Counts(2)}, Unit: m.Unit()}
	if m.Distinct != 0 {
		c.Most = rules.MaxDistinct
	}
	if len(m.Attributes) > 0 || m.V4 != rules.DefaultV4 || m.V6 != rules.DefaultV6 {
		c.Keys = Noun{"key", "keys"}
	}
	return c
}

// NewTally makes an empty tally.
func NewTally(c Config) *Tally {
	if c.Top <= 0 {
		c.Top = DefaultTop
	}
	if c.Events == "" {
		c.Events = "requests"
	}
	if c.Keys == (Noun{}) {
		c.Keys = Noun{"address", "addresses"}
	}
	if c.Most == 0 {
		c.Most = edgeguard.MaxLimit
	}
	if c.Counted == (Noun{}) {
		c.Counted = Noun{"request", "requests"}
	}
	return &Tally{Top: newTop(c.Top), noun: c.Events, counted: c.Counted, unit: max(c.Unit, 1), keys: c.Keys, live: c.Live, most: c.Most}
}

// Amount returns a count in units, with a decimal place where it is not whole.
func (t *Tally) Amount(n uint32) string {
	return words.Amount(n, t.unit)
}

// Allowed returns how much a limit allows, in units, with the noun: "25 attempts".
func (t *Tally) Allowed(limit uint32) string {
	n := limit / t.unit
	return words.Plural(n, t.counted.One, t.counted.Many)
}

// Event records the count that an event brought its key to. It allocates
// nothing.
func (t *Tally) Event(count uint32) { t.Events.Add(count) }

// Key records a key once, with its peak. A key that never counted anything is left
// out.
func (t *Tally) Key(key edgeguard.Key, peak uint32) {
	if t.Count(peak) {
		t.Lead(key, peak)
	}
}

// Count records the peak of a key, and reports whether it may be among the highest:
// the caller then passes the key to Lead. Of ten million keys a few thousand are, and
// the others need not be known.
func (t *Tally) Count(peak uint32) (leads bool) {
	if peak == 0 {
		return false
	}
	t.Peaks.Add(peak)
	return t.Top.takes(peak)
}

// Lead records a key of which Count returned true.
func (t *Tally) Lead(key edgeguard.Key, peak uint32) { t.Top.Add(Peak{Key: key, Peak: peak}) }
