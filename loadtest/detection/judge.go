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
	name string
	set  *rules.Set
}

// parse reads the rules of a config.
func parse(name string, text []byte) (ruleset, error) {
	c, err := config.Parse(name, text)
	if err != nil {
		return ruleset{}, err
	}
	return ruleset{name, c.Rules}, nil
}

// visitor is what one address did, and which rules blocked it when.
type visitor struct {
	first   time.Time
	events  int
	targets []string // a few of them, the first ones
	blocked map[string]time.Time
}

// since returns how long after its first event the address was blocked by any
// rule, and whether it was.
func (v *visitor) since() (time.Duration, bool) {
	var first time.Time
	for _, at := range v.blocked {
		if first.IsZero() || at.Before(first) {
			first = at
		}
	}
	return first.Sub(v.first), !first.IsZero()
}

// shownTargets is how many targets are kept of an address.
const shownTargets = 4

// outcome is what a set of rules did with one log.
type outcome struct {
	visitors map[netip.Addr]*visitor
	// peaks has the greatest count of any key, by rule.
	peaks map[string]uint32
}

// judge replays a source in the order of its times.
func judge(ctx context.Context, r ruleset, source replay.Source) (*outcome, error) {
	w := &watch{source: replay.Sort(source, 0), visitors: make(map[netip.Addr]*visitor)}
	crossed := make(map[netip.Prefix]map[string]time.Time)
	report, err := replay.Run(ctx, w, replay.Config{
		Rules:  r.set,
		Memory: shard.NewMemory(512 << 20),
		Crossed: func(c edgeguard.Crossing) {
			if c.Action == edgeguard.ActionShadow || c.Action == edgeguard.ActionAlarm {
				return
			}
			if crossed[c.Key.Prefix] == nil {
				crossed[c.Key.Prefix] = make(map[string]time.Time)
			}
			if _, before := crossed[c.Key.Prefix][c.Rule]; !before {
				crossed[c.Key.Prefix][c.Rule] = c.Time
			}
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
		v.blocked = blocksOf(addr, crossed)
	}
	return o, nil
}

// widths are the lengths of the keys that rules count by, and of the networks
// around them.
var widths = []int{128, 64, 56, 48, 32, 24}

// blocksOf returns which rules blocked a prefix that addr is in, and when first.
func blocksOf(addr netip.Addr, crossed map[netip.Prefix]map[string]time.Time) map[string]time.Time {
	blocks := make(map[string]time.Time)
	for _, bits := range widths {
		if bits > addr.BitLen() || addr.Is6() && bits < 48 {
			continue
		}
		prefix, _ := addr.Prefix(bits) // no error: bits fits
		for rule, at := range crossed[prefix] {
			if before, found := blocks[rule]; !found || at.Before(before) {
				blocks[rule] = at
			}
		}
	}
	return blocks
}

// watch passes events through and notes who they are of.
type watch struct {
	source   replay.Source
	visitors map[netip.Addr]*visitor
}

func (w *watch) Next() ([]edgeguard.Event, error) {
	events, err := w.source.Next()
	for i := range events {
		e := &events[i]
		v := w.visitors[e.Addr]
		if v == nil {
			v = &visitor{first: e.Time}
			w.visitors[e.Addr] = v
		}
		v.events++
		if len(v.targets) < shownTargets {
			v.targets = append(v.targets, strings.Clone(e.Method+" "+e.Path))
		}
	}
	return events, err
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
