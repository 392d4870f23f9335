package main

import (
	"context"
	"net/netip"
	"strings"
	"time"

	"edgeguard"
	"edgeguard/config"
	"edgeguard/replay"
	"edgeguard/rules"
	"edgeguard/shard"
)

// ruleset is what is judged.
type ruleset struct {
	name   string
	set    *rules.Set
	own    *rules.Hosts // own_hosts
	spared int          // limits a client and day; 0: as built
}

// parse reads the rules of a config.
func parse(name string, text []byte) (ruleset, error) {
	c, err := config.Parse(name, text)
	if err != nil {
		return ruleset{}, err
	}
	return ruleset{name: name, set: c.Rules}, nil
}

// effect is what rules did to an address.
type effect int

// The effects, from the strongest. lifted is a block that was taken back because the site
// failed, and held what would have been a block or a denial, did it not fail.
const (
	blocked effect = iota
	denied
	lifted
	told
	held
	effects
)

// visitor is what one address did, and which rules did what to it, and when first.
type visitor struct {
	first, last time.Time
	events      int
	refused     int // of events
	refusedBy   map[string]time.Time
	targets     []string // a few of them, the first ones
	by          [effects]map[string]time.Time
}

// since returns how long after its first event the address was blocked by any
// rule, and whether it was.
func (v *visitor) since() (time.Duration, bool) {
	var first time.Time
	for _, at := range v.by[blocked] {
		if first.IsZero() || at.Before(first) {
			first = at
		}
	}
	return first.Sub(v.first), !first.IsZero()
}

// stopped reports whether the address was blocked or denied.
func (v *visitor) stopped() bool { return len(v.by[blocked]) > 0 || len(v.by[denied]) > 0 }

// shownTargets is how many targets are kept of an address.
const shownTargets = 4

// outcome is what a set of rules did with one log.
type outcome struct {
	visitors map[netip.Addr]*visitor
	// peaks has the greatest count of any key, by rule.
	peaks map[string]uint32
}

// judge replays a source, whose events are in the order of their times.
func judge(ctx context.Context, r ruleset, source replay.Source) (*outcome, error) {
	w := &watch{visitors: make(map[netip.Addr]*visitor)}
	var crossed [effects]crossings
	for e := range crossed {
		crossed[e] = make(crossings)
	}
	report, err := replay.Run(ctx, source, replay.Config{
		Rules:   r.set,
		Own:     r.own,
		Spared:  r.spared,
		Memory:  shard.NewMemory(512 << 20),
		Clients: []netip.Prefix{netip.PrefixFrom(netip.IPv4Unspecified(), 0), netip.PrefixFrom(netip.IPv6Unspecified(), 0)}, // by the labels
		Seen:    w.seen,
		Decided: w.decided,
		Crossed: func(c edgeguard.Crossing) {
			if e := effectOf(&c); e < effects {
				crossed[e].note(&c)
			}
		},
		// A prefix has one block at a time: with the one that is lifted, those end that it had
		// replaced, or that gave way to it.
		Lifted: func(_ time.Time, _ string, prefix netip.Prefix) {
			for rule, at := range crossed[blocked][prefix] {
				crossed[lifted].note(&edgeguard.Crossing{Time: at, Rule: rule, Key: edgeguard.Key{Prefix: prefix}})
			}
			delete(crossed[blocked], prefix)
		},
	})
	if err != nil {
		return nil, err
	}
	o := &outcome{visitors: w.visitors, peaks: make(map[string]uint32)}
	for _, rule := range report.Rules {
		o.peaks[rule.Rule.Name] = rule.Tally.Peaks.Max()
	}
	for addr, v := range w.visitors {
		for e := range crossed {
			v.by[e] = crossed[e].of(addr, v)
		}
		v.by[denied] = v.deniedBy()
	}
	return o, nil
}

// deniedBy returns the rules that refused a request of the address without a block. A
// rule that denies, and the requests of whose network are over its limit, refuses those
// alone that it is about, and maybe none of this address.
func (v *visitor) deniedBy() map[string]time.Time {
	by := make(map[string]time.Time)
	for rule, at := range v.refusedBy {
		if v.by[blocked][rule].IsZero() && v.by[lifted][rule].IsZero() {
			by[rule] = at
		}
	}
	return by
}

// effectOf returns what a crossing does, or effects if verdicts say it better.
func effectOf(c *edgeguard.Crossing) effect {
	switch {
	case c.Excused:
		return held
	case c.Action == edgeguard.ActionBlock, c.Action == edgeguard.ActionDeny && c.Stands != "":
		return blocked
	case c.Action == edgeguard.ActionShadow:
		return told
	}
	return effects
}

// crossings are the first times at which keys crossed rules.
type crossings map[netip.Prefix]map[string]time.Time

func (all crossings) note(c *edgeguard.Crossing) {
	of := all[c.Key.Prefix]
	if of == nil {
		of = make(map[string]time.Time)
		all[c.Key.Prefix] = of
	}
	if _, before := of[c.Rule]; !before {
		of[c.Rule] = c.Time
	}
}

// widths are the lengths of the keys that rules count by, and of the networks
// around them.
var widths = []int{128, 64, 56, 48, 32, 24}

// of returns which rules a prefix crossed that addr is in, and when first. What
// happened to a network after the address was last seen did not happen to it.
func (all crossings) of(addr netip.Addr, v *visitor) map[string]time.Time {
	found := make(map[string]time.Time)
	for _, bits := range widths {
		if bits > addr.BitLen() || addr.Is6() && bits < 48 {
			continue
		}
		prefix, _ := addr.Prefix(bits) // no error: bits fits
		for rule, at := range all[prefix] {
			if at.After(v.last) {
				continue
			}
			if before, known := found[rule]; !known || at.Before(before) {
				found[rule] = at
			}
		}
	}
	return found
}

// watch notes who events are of.
type watch struct {
	visitors map[netip.Addr]*visitor
}

func (w *watch) seen(e *edgeguard.Event) {
	v := w.visitors[e.Addr]
	if v == nil {
		v = &visitor{first: e.Time}
		w.visitors[e.Addr] = v
	}
	v.last = e.Time
	v.events++
	if len(v.targets) < shownTargets {
		v.targets = append(v.targets, strings.Clone(e.Method+" "+e.Path))
	}
}

func (w *watch) decided(e *edgeguard.Event, verdict edgeguard.Verdict) {
	if verdict.Action == edgeguard.ActionDeny {
		v := w.visitors[e.Addr]
		v.refused++
		if v.refusedBy[verdict.Rule].IsZero() {
			if v.refusedBy == nil {
				v.refusedBy = make(map[string]time.Time)
			}
			v.refusedBy[verdict.Rule] = e.Time
		}
	}
}

// only passes the events of some addresses.
type only struct {
	source replay.Source
	keep   func(netip.Addr) bool
}

func (o only) Next() ([]edgeguard.Event, error) {
	events, err := o.source.Next()
	kept := events[:0]
	for _, e := range events {
		if o.keep(e.Addr) {
			kept = append(kept, e)
		}
	}
	return kept, err
}
