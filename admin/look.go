package admin

import (
	"context"
	"net/netip"
	"slices"
	"time"

	"edgeguard/admin/call"
	"edgeguard/admin/watch"
	"edgeguard/blocklist"
	"edgeguard/tuning"
)

// View is what the API answers, before it is JSON: the pages of the console show
// the same. It changes nothing. It is safe for concurrent use. Make one with
// [NewView].
type View struct {
	reader Reader
	events *Events
	scans  *watch.Shared[scanned]
	sorted *watch.Copies
	board  *watch.Board
	// discreet leaves out what operators wrote.
	discreet bool
}

// NewView returns a view of a node and of what happened on it.
func NewView(reader Reader, events *Events) *View {
	now := func() time.Time { return reader.Now() }
	look := func(now time.Time, k watch.Key) watch.Figures { return reader.Figures(now, k) } // the document of the API has no reader
	return &View{reader: reader, events: events, scans: watch.NewShared[scanned](now), sorted: watch.NewCopies(now), board: watch.NewBoard(now, look)}
}

// Reader returns the node that the view shows, without what operators wrote where
// the view leaves it out.
func (v *View) Reader() Reader { return v.reader }

// Discreet says that the view leaves out what operators wrote.
func (v *View) Discreet() bool { return v.discreet }

// Events returns what happened on the node.
func (v *View) Events() *Events { return v.events }

// Board returns the figures of the prefixes that somebody watches.
func (v *View) Board() *watch.Board { return v.board }

// Stats returns the node's figures with those of the view.
func (v *View) Stats() Stats {
	stats := v.reader.Stats()
	stats.SortedBytes = v.sorted.Bytes()
	return stats
}

// Explanation returns the state of an address. It waits for Redis where the node
// is in a fleet.
func (v *View) Explanation(ctx context.Context, addr netip.Addr) Explanation {
	e := v.reader.Explain(v.reader.Now(), addr)
	e.Rules = append([]RuleCount{}, e.Rules...)
	for i := range e.Rules {
		e.Rules[i].Does = e.Rules[i].Action.String()
	}
	v.addFleet(ctx, &e)
	e.History = v.historyOf(ctx, addr)
	return e
}

// addFleet adds what the fleet counts to the rules that go by it.
func (v *View) addFleet(ctx context.Context, e *Explanation) {
	var keys []FleetKey
	var of []int
	for i := range e.Rules {
		if prefix, ok := keyPrefix(e.Rules[i].Key); ok && e.Rules[i].Scope == "fleet" {
			keys, of = append(keys, FleetKey{Rule: e.Rules[i].Rule, Prefix: prefix}), append(of, i)
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

// scanned names what is shared of a look at every key: a rule with its limit, a
// prefix, or with neither the keys nearest to a limit; or of a look at blocks.
type scanned struct {
	// refused is of the blocks of which most was refused; guest is without what operators wrote.
	refused, guest bool
	rule           string
	limit          uint32
	inside         netip.Prefix
}

// looked is what a look at a rule's keys found, with what every answer has of it: that
// is made once, and read by all.
type looked struct {
	Counts
	counted Counted
	top     []tuning.Peak // those that count most, in their order
}

// counts returns what a rule's keys count, by the look that all share.
func (v *View) counts(ctx context.Context, name string) (r Rule, l *looked, asOf time.Time, found bool) {
	rules := v.reader.Rules()
	i := slices.IndexFunc(rules, func(rule Rule) bool { return rule.Name == name })
	if i < 0 {
		return r, l, asOf, false
	}
	r = rules[i]
	l, asOf, found = watch.Look(ctx, v.scans, scanned{rule: name, limit: r.Limit}, func(now time.Time) *looked {
		c, found := v.reader.Counts(now, name, call.MaxLimit)
		if !found { // a reload dropped it since
			return nil
		}
		return &looked{c, newCounted(&c), c.Tally.Top.Sorted()}
	})
	return r, l, asOf, found && l != nil
}

// RuleDetail returns a rule with the distribution of its counts and the n keys
// that count most, and what each of some thresholds would do, all by one look at
// the keys; false if there is no such rule, or if ctx ended first.
func (v *View) RuleDetail(ctx context.Context, name string, n int, thresholds ...uint32) (d RuleDetail, outcomes []Outcome, found bool) {
	r, l, asOf, found := v.counts(ctx, name)
	if !found {
		return d, nil, false
	}
	d = RuleDetail{Rule: r, Counted: l.counted, Top: topOf(r, l.top, n), AsOf: asOf.UTC()}
	for _, threshold := range thresholds {
		outcomes = append(outcomes, v.outcome(l, asOf, threshold))
	}
	return d, outcomes, true
}

// Outcome returns what a threshold of a rule would do now; false as of RuleDetail.
func (v *View) Outcome(ctx context.Context, name string, threshold uint32) (out Outcome, found bool) {
	_, l, asOf, found := v.counts(ctx, name)
	if !found {
		return out, false
	}
	return v.outcome(l, asOf, threshold), true
}

func (v *View) outcome(l *looked, asOf time.Time, threshold uint32) Outcome {
	o := newOutcome(l.Tally, l.LimitOf, threshold, asOf)
	if o.Keys <= call.MaxLimit {
		fresh, now := 0, v.reader.Now()
		for _, p := range l.top[:min(int(o.Keys), len(l.top))] {
			if len(v.reader.Find(now, p.Key.Prefix)) == 0 {
				fresh++
			}
		}
		o.NewKeys = &fresh
	}
	return o
}

// History returns what the threshold in force and another one, unless it is 0, would
// have done in the last hours; false if there is no such rule.
func (v *View) History(name string, hours int, tried uint32) (h RuleHistory, found bool) {
	now := v.reader.Now()
	windows, found := v.reader.Past(now, name, time.Duration(hours)*time.Hour)
	for _, r := range v.reader.Rules() {
		if r.Name == name && found {
			return newRuleHistory(name, r.Threshold, r.Limit, tried, windows, now), true
		}
	}
	return h, false
}

// Nearest returns the n keys nearest to the limit of a rule, or furthest above it,
// with the fleet's counts: of what is not blocked, the nearest key of each prefix. There
// are none if ctx ended first.
func (v *View) Nearest(ctx context.Context, n int) []KeyCount {
	all, _, _ := watch.Look(ctx, v.scans, scanned{}, func(now time.Time) []KeyCount { return v.reader.Top(now, call.MaxLimit) })
	all = byPrefix(all)
	keys := shown(all[:min(n, len(all))])
	var of []FleetKey
	for _, k := range keys {
		of = append(of, FleetKey{Rule: k.Rule, Prefix: k.Key.Prefix})
	}
	for i, count := range v.reader.FleetCounts(ctx, of, false) {
		if keys[i].Key.With == "" {
			keys[i].Fleet = count
		}
	}
	return keys
}

// Newest returns at most n of the active blocks, in the order in which they were last made,
// the newest first.
func (v *View) Newest(n int) []Block {
	blocks := []Block{}
	for b := range v.reader.Newest(v.reader.Now(), blocklist.Only{}, blocklist.Place{}) {
		if len(blocks) == n {
			break
		}
		one := NewBlock(b)
		one.Unit = v.reader.Unit(b.Rule, b.Origin)
		blocks = append(blocks, one)
	}
	return blocks
}
