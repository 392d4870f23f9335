package admin

import (
	"context"
	"net/netip"
	"slices"
)

// View is what the API answers, before it is JSON: the pages of the console show
// the same. It changes nothing. It is safe for concurrent use. Make one with
// [NewView].
type View struct {
	reader Reader
	events *Events
	scan   chan struct{} // holds one while a request looks at every key
	// discreet leaves out what operators wrote.
	discreet bool
}

// NewView returns a view of a node and of what happened on it.
func NewView(reader Reader, events *Events) *View {
	return &View{reader: reader, events: events, scan: make(chan struct{}, 1)}
}

// historyLength is how many events of an address are shown.
const historyLength = 20

// Explanation returns the state of an address. It waits for Redis where the node
// is in a fleet.
func (v *View) Explanation(ctx context.Context, addr netip.Addr) Explanation {
	e := v.reader.Explain(v.reader.Now(), addr)
	e.Rules = append([]RuleCount{}, e.Rules...)
	for i := range e.Rules {
		e.Rules[i].Does = e.Rules[i].Action.String()
	}
	v.addFleet(ctx, &e)
	e.History = v.events.history(addr, historyLength)
	if v.discreet {
		for i := range e.History {
			e.History[i] = *e.History[i].withoutNote()
		}
	}
	return e
}

// addFleet adds what the fleet counts to the rules that go by it.
func (v *View) addFleet(ctx context.Context, e *Explanation) {
	var keys []FleetKey
	var of []int
	for i := range e.Rules {
		if prefix, ok := keyPrefix(e.Rules[i].Key); ok && e.Rules[i].Scope == "fleet" {
			keys, of = append(keys, FleetKey{e.Rules[i].Rule, prefix}), append(of, i)
		}
	}
	if len(keys) == 0 {
		return
	}
	for i, count := range v.reader.FleetCounts(ctx, keys, true) {
		e.Rules[of[i]].Fleet = count
	}
}

// keyPrefix reads a key without attributes.
func keyPrefix(key string) (netip.Prefix, bool) {
	if addr, err := netip.ParseAddr(key); err == nil {
		return netip.PrefixFrom(addr, addr.BitLen()), true
	}
	prefix, err := netip.ParsePrefix(key)
	return prefix, err == nil
}

// RuleDetail returns a rule with the distribution of its counts and the n keys
// that count most; false if there is no such rule, or if ctx ended first.
func (v *View) RuleDetail(ctx context.Context, name string, n int) (d RuleDetail, found bool) {
	rules := v.reader.Rules()
	i := slices.IndexFunc(rules, func(rule Rule) bool { return rule.Name == name })
	if i < 0 {
		return d, false
	}
	v.scanning(ctx, func() {
		var counts Counts
		if counts, found = v.reader.Counts(v.reader.Now(), name, n); found { // else a reload dropped it since
			d = newRuleDetail(rules[i], counts)
		}
	})
	return d, found
}

// Nearest returns the n keys nearest to the limit of a rule, or furthest above it,
// with the fleet's counts; none if ctx ended first.
func (v *View) Nearest(ctx context.Context, n int) []KeyCount {
	var keys []KeyCount
	v.scanning(ctx, func() { keys = shown(v.reader.Top(v.reader.Now(), n)) })
	var of []FleetKey
	for _, k := range keys {
		of = append(of, FleetKey{k.Rule, k.Key.Prefix})
	}
	for i, count := range v.reader.FleetCounts(ctx, of, false) {
		if keys[i].Key.With == "" {
			keys[i].Fleet = count
		}
	}
	return keys
}

// Newest returns at most n of the active blocks, as they are now, in the order in
// which they were last made, the newest first.
func (v *View) Newest(n int) []Block {
	now := v.reader.Now()
	blocks, seen := []Block{}, make(map[netip.Prefix]bool)
	v.events.hub.Newest(n, func(e *Event) bool {
		if e.Kind != EventBlock || seen[e.Block.Prefix] {
			return false
		}
		seen[e.Block.Prefix] = true
		b, active := exact(v.reader.Find(now, e.Block.Prefix), e.Block.Prefix)
		if active {
			blocks = append(blocks, NewBlock(b))
		}
		return active
	})
	return blocks
}

// scanning runs what may look at every key, one at a time, so that clients cannot
// keep all cores busy by asking. It does not if the client goes away while it
// waits.
func (v *View) scanning(ctx context.Context, look func()) {
	select {
	case v.scan <- struct{}{}:
		defer func() { <-v.scan }()
		look()
	case <-ctx.Done():
	}
}
