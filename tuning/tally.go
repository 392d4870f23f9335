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
	// Unit is what counts are of, in sentences, and what is suggested is a multiple of what
	// one adds where it can be. The zero one means requests that add 1.
	Unit words.Measure
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
	// Unit is what all these counts are of.
	Unit words.Measure
	// Days are the greatest counts of days, of a meter by which a threshold is learned.
	Days []Day

	noun string // what the events are called
	keys Noun
	live bool
	most uint32
}

// People is what is known of those whom a rule must spare.
type People = rules.People

// ConfigOf returns the words and the bounds for what a meter counts.
func ConfigOf(m *rules.Meter) Config {
	c := Config{Events: m.Events(), Unit: m.MeasureOf()}
	if m.Distinct != 0 {
		c.Most = rules.MaxDistinct
	}
	if !m.CountsAddresses() || m.V4 != rules.DefaultV4 || m.V6 != rules.DefaultV6 {
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
	if c.Unit == (words.Measure{}) {
		c.Unit = words.Measure{Each: 1, One: "request", Many: "requests"}
	}
	return &Tally{Top: newTop(c.Top), Unit: c.Unit, noun: c.Events, keys: c.Keys, live: c.Live, most: c.Most}
}

// Event records the count that an event brought its key to. It allocates
// nothing.
func (t *Tally) Event(count uint32) { t.Events.Add(count) }

// RecordPeak records a key once, with its peak. A key that never counted anything is left
// out.
func (t *Tally) RecordPeak(key edgeguard.Key, peak uint32) {
	if t.Count(peak) {
		t.RecordLeader(key, peak)
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

// RecordLeader records a key of which Count returned true.
func (t *Tally) RecordLeader(key edgeguard.Key, peak uint32) { t.Top.Add(Peak{Key: key, Peak: peak}) }
