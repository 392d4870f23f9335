package replay

import (
	"net/netip"

	"edgeguard"
	"edgeguard/rules"
	"edgeguard/shard"
	"edgeguard/tuning"
)

// ledger collects what the report needs while the events go by.
type ledger struct {
	rules  map[string]*account
	order  []*account
	meters []meterBook
}

// account is what one rule did.
type account struct {
	rule      *rules.Rule
	meter     *rules.Meter
	offenders map[offenderKey]*Offender
	// refused counts the events that the rule refused: all, and by prefix.
	refused  uint64
	prefixes map[netip.Prefix]uint64
}

// offenderKey is a key as the tables know it, so that its peak can be found.
type offenderKey struct {
	prefix netip.Prefix
	with   uint64 // fingerprint of the attributes
}

// meterBook is what one meter counted.
type meterBook struct {
	tally *tuning.Tally
	names names
}

func newLedger(set *rules.Set) *ledger {
	l := &ledger{rules: make(map[string]*account)}
	for i := range set.Rules {
		rule := &set.Rules[i]
		a := &account{rule: rule, meter: &set.Meters[rule.Meter],
			offenders: make(map[offenderKey]*Offender), prefixes: make(map[netip.Prefix]uint64)}
		l.rules[rule.Name], l.order = a, append(l.order, a)
	}
	for i := range set.Meters {
		m := &set.Meters[i]
		l.meters = append(l.meters, meterBook{tuning.NewTally(tallyConfig(m)), names{meter: m}})
	}
	return l
}

// tallyConfig chooses the words that a meter's sentences use.
func tallyConfig(m *rules.Meter) tuning.Config {
	c := tuning.Config{Events: m.Kind.String() + "s"}
	if m.Kind == edgeguard.KindSYN || m.Kind == edgeguard.KindUDP || m.Kind == edgeguard.KindICMP {
		c.Events = m.Kind.String() + " packets"
	}
	if len(m.Attributes) > 0 || m.V4 != 32 {
		c.Keys = tuning.Noun{One: "key", Many: "keys"}
	}
	return c
}

// counted notes how high a count stood at one event.
func (l *ledger) counted(meter int, event *edgeguard.Event, count, cost uint32) {
	book := &l.meters[meter]
	book.tally.Event(count)
	book.names.note(event, count, cost)
}

// refused notes an event that a rule refused.
func (l *ledger) refused(rule string, addr netip.Addr) {
	a := l.rules[rule]
	a.refused++
	a.prefixes[a.meter.Key(addr, "").Prefix]++
}

// crossed notes a crossing.
func (l *ledger) crossed(c edgeguard.Crossing) {
	a := l.rules[c.Rule]
	key := offenderKey{prefix: c.Key.Prefix}
	if c.Key.With != "" {
		key.with = shard.Fingerprint(c.Key.With)
	}
	o := a.offenders[key]
	if o == nil {
		o = &Offender{Key: c.Key, Rule: c.Rule, First: c.Time, Count: c.Count, Limit: c.Limit, Fleet: c.Fleet}
		a.offenders[key] = o
	}
	o.Last = c.Time
	o.Crossings++
	o.Action = max(o.Action, c.Action)
	o.Peak = max(o.Peak, c.Count)
}
