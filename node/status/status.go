package status

import (
	"cmp"
	"context"
	"iter"
	"net/netip"
	"slices"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/admin/watch"
	"edgeguard/attack"
	"edgeguard/blocklist"
	"edgeguard/internal/words"
	"edgeguard/node/alarm"
	"edgeguard/node/pipeline"
)

// Status is the node as the admin API shows it: an admin.Reader. Its times are
// wall-clock times; the node's own may differ after a step of the clock. Make
// one with New; it is safe for concurrent use.
type Status struct {
	from   Sources
	advice advice
}

// New returns a Status that reads from the sources.
func New(from Sources) *Status { return &Status{from: from} }

// Now implements admin.Reader.
func (s *Status) Now() time.Time { return s.from.Clock.Epoch(s.from.Clock.Now()) }

// Outward returns a block of the node's list with wall-clock times.
func (s *Status) Outward(b edgeguard.Block) edgeguard.Block {
	b.Since, b.Until = s.from.Clock.Epoch(b.Since), s.from.Clock.Epoch(b.Until)
	return b
}

// Blocks implements admin.Reader.
func (s *Status) Blocks(now time.Time, from netip.Prefix) iter.Seq[edgeguard.Block] {
	return s.outward(s.from.List.AllFrom(s.from.Clock.Local(now), from))
}

// Newest implements admin.Reader.
func (s *Status) Newest(now time.Time, only blocklist.Only, after blocklist.Place) iter.Seq[edgeguard.Block] {
	after.Since = s.from.Clock.Local(after.Since)
	return s.outward(s.from.List.Newest(s.from.Clock.Local(now), only, after))
}

// CountOf implements admin.Reader.
func (s *Status) CountOf(having func(blocklist.Common) bool) (n int, ok bool) {
	return s.from.List.Count(having)
}

// Active implements admin.Reader.
func (s *Status) Active(blocks []edgeguard.Block) []admin.ActiveBlock {
	out := make([]admin.ActiveBlock, len(blocks))
	by := s.from.Refuses()
	for i := range blocks {
		out[i].Block = s.block(blocks[i])
		list, isImported := s.listOf(&blocks[i])
		out[i].Imported = isImported
		out[i].RefusedBy = by(&blocks[i])
		refused, last, _ := list.Refusals(blocks[i].Prefix)
		if refused > 0 || out[i].RefusedBy == "" {
			out[i].Refused = &refused
		}
		if refused > 0 {
			out[i].LastRefused = s.from.Clock.Epoch(last).UTC()
		}
		became := list.Became(blocks[i].Prefix)
		out[i].Asked, out[i].TurnedAway, out[i].Served = became.Asked, became.TurnedAway, became.Served
	}
	return out
}

// Refusals implements admin.Reader.
func (s *Status) Refusals(prefix netip.Prefix) (events uint32, last time.Time) {
	events, last, _ = s.from.List.Refusals(prefix)
	return events, s.from.Clock.Epoch(last)
}

// block returns a block as the API shows it.
func (s *Status) block(b edgeguard.Block) admin.Block {
	shown := admin.NewBlock(b)
	shown.Unit = s.Unit(b.Rule, b.Origin)
	return shown
}

// Unit implements admin.Reader.
func (s *Status) Unit(rule, origin string) words.Measure {
	c := s.from.Current().Config
	if origin != c.Node && !s.from.Alike(rule, origin) {
		return words.Measure{}
	}
	return c.Rules.MeasureOf(rule)
}

// Blocklist implements admin.Reader.
func (s *Status) Blocklist() blocklist.Stats { return s.from.List.Stats() }

func (s *Status) outward(blocks iter.Seq[edgeguard.Block]) iter.Seq[edgeguard.Block] {
	return func(yield func(edgeguard.Block) bool) {
		for b := range blocks {
			if !yield(s.Outward(b)) {
				return
			}
		}
	}
}

// Find implements admin.Reader.
func (s *Status) Find(now time.Time, prefix netip.Prefix) []edgeguard.Block {
	if !prefix.IsValid() {
		return nil // a key without an address
	}
	found := s.from.List.Around(s.from.Clock.Local(now), prefix)
	for i := range found {
		found[i] = s.Outward(found[i])
	}
	return found
}

// Exact implements admin.Reader.
func (s *Status) Exact(now time.Time, prefix netip.Prefix) (edgeguard.Block, bool) {
	if b := s.from.List.BlockOf(s.from.Clock.Local(now), prefix); b != nil {
		return s.Outward(*b), true
	}
	return edgeguard.Block{}, false
}

// ExactAllowance implements admin.Reader.
func (s *Status) ExactAllowance(now time.Time, prefix netip.Prefix) (edgeguard.Block, bool) {
	b, ok := s.from.List.Allowance(s.from.Clock.Local(now), prefix) // the longest
	return s.Outward(b), ok && b.Prefix == prefix
}

// heldKind returns what a held record is.
func heldKind(b *edgeguard.Block) string {
	switch {
	case b.Lifted:
		return "unblock"
	case b.Allow:
		return "allowance"
	}
	return "block"
}

// Held implements admin.Reader.
func (s *Status) Held() []admin.HeldBlock {
	all := s.from.Quarantine.HeldRecords()
	out := make([]admin.HeldBlock, len(all))
	for i, one := range all {
		out[i] = admin.HeldBlock{Block: s.block(s.Outward(one.Block)), Share: one.Share, Held: s.from.Clock.Epoch(one.At).UTC(),
			Kind: heldKind(&one.Block), Why: one.Why.String()}
	}
	return out
}

// Allowlist implements admin.Reader.
func (s *Status) Allowlist() []netip.Prefix { return s.from.Current().Config.Allowlist }

// Allowances implements admin.Reader.
func (s *Status) Allowances(now time.Time) iter.Seq[edgeguard.Block] {
	return s.outward(s.from.List.Allowances(s.from.Clock.Local(now)))
}

// Evidence implements admin.Reader.
func (s *Status) Evidence(prefix netip.Prefix) (edgeguard.Evidence, bool) {
	e, ok := s.from.Evidence(prefix, s.from.Clock.Now())
	e.Since, e.Until = s.from.Clock.Epoch(e.Since), s.from.Clock.Epoch(e.Until)
	return e, ok
}

// customers returns what made the blocks in force that may be customers'. One in whose place another
// stands is none of them, and neither is one that an allowance is around.
func (s *Status) customers() []edgeguard.Evidence {
	now := s.from.Clock.Now()
	for n := admin.MostCustomers; ; n *= 8 { // mostly all of the first stand
		all := s.from.Customers(now, n)
		more := len(all) == n
		all = slices.DeleteFunc(all, func(e edgeguard.Evidence) bool {
			b := s.from.List.BlockOf(now, e.Prefix)
			_, allowed := s.from.List.Allowance(now, e.Prefix)
			return b == nil || b.Rule != e.Rule || allowed
		})
		if len(all) >= admin.MostCustomers || !more {
			return all[:min(len(all), admin.MostCustomers)]
		}
	}
}

// Samples implements admin.Reader.
func (s *Status) Samples(prefix netip.Prefix) admin.KeptSamples {
	c := s.from.Current().Config
	out := admin.KeptSamples{ForReaders: c.SamplesForReaders}
	if s.from.Samples != nil {
		out.Each = c.Samples
	}
	for _, one := range s.from.Samples.Of(prefix, s.from.Clock.Now()) {
		out.Samples = append(out.Samples, admin.Sample{
			Time: s.from.Clock.Epoch(one.Time).UTC(), Address: one.Addr, Method: one.Method, Path: one.Path, Status: one.Status, Agent: one.Agent, Refused: one.Refused,
		})
	}
	return out
}

// Crowd implements admin.Reader.
func (s *Status) Crowd(rule, with string, since time.Time) (came attack.Crowd, found bool) {
	came, found = s.from.Crowd(s.from.Clock.Now(), rule, with, s.from.Clock.Local(since))
	came.Began = s.from.Clock.Epoch(came.Began).UTC()
	for i := range came.Members {
		came.Members[i].First = s.from.Clock.Epoch(came.Members[i].First).UTC()
	}
	return came, found
}

// Rates implements admin.Reader.
func (s *Status) Rates() []watch.Series { return s.from.Rates() }

// Day implements [admin.Reader].
func (s *Status) Day() []watch.DayMinute { return s.from.Day() }

// Stats implements admin.Reader.
func (s *Status) Stats() admin.Stats {
	g := s.from.Current()
	d := g.Detector.Stats()
	blocks := s.from.List.Stats()
	out := admin.Stats{
		Node: g.Config.Node, Version: s.from.Version, Monitor: g.Config.Monitor,
		Started: s.from.Clock.Epoch(s.from.Begun), Time: s.Now(),
		Events: admin.Totals{
			Decided: d.Events, Passed: d.Passed, Shadowed: d.Shadowed, Denied: d.Denied, Spared: d.Spared, Late: d.Late, Early: d.Early, Unknown: d.Unknown,
		},
		V4: blocks.V4, V6: blocks.V6, Allowances: blocks.Allowances,
		MaxBlocks: blocks.Most, ByHand: blocks.ByHand, Evicted: blocks.Evicted, Forgotten: blocks.Forgotten,
		Tables: s.tables(g), Fleet: s.fleet(g),
	}
	s.from.Verdicts(func(by pipeline.Ruling, n uint64) {
		out.Decisions = append(out.Decisions, admin.Decisions{Source: by.Source, Action: by.Action.String(), Rule: by.Rule, Count: n, Unenforced: by.Unenforced})
		if by.Unenforced {
			out.Events.WouldBeRefused += n
		}
	})
	s.from.Report(&out)
	s.judge(&out)
	if need, ok := admin.NewCustomers(s.customers(), out.Monitor); ok {
		out.Needs = append(out.Needs, need)
	}
	out.Needs = append(out.Needs, s.advised(g)...)
	for i := range g.Config.Rules.Rules {
		r := &g.Config.Rules.Rules[i]
		if l := s.learned(r, &g.Config.Rules.Meters[r.Meter]); l != nil {
			out.Learned = append(out.Learned, *l)
		}
	}
	slices.SortFunc(out.Decisions, func(a, b admin.Decisions) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Action, b.Action), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Count, b.Count))
	})
	return out
}

// judge fills in what the alarms say of the node, once its figures are known.
func (s *Status) judge(out *admin.Stats) {
	joined := out.Fleet != nil && out.Fleet.Up
	var all []admin.Alarm
	for _, a := range s.from.Conditions() {
		// The alarm of a node that was cut off lasts until its session has: what is seen is over now.
		// Of a link that works at nothing, its pushes complain as well: one cause is said once.
		if a.Kind == alarm.Fleet && joined || slices.ContainsFunc(all, func(b admin.Alarm) bool { return b.Text == a.Text }) {
			continue
		}
		part, acts := alarm.About(a.Kind)
		all = append(all, admin.NewAlarm(a.Kind, part, a.Text, s.from.Clock.Epoch(a.Since).UTC(), acts, alarm.Awaits(a.Kind)))
	}
	out.Judge(all)
}

// tables adds up the tables of all meters.
func (s *Status) tables(g Generation) admin.Tables {
	memory := s.from.Memory()
	const page = 4096
	sampled := s.from.Samples.Used()
	out := admin.Tables{Limit: memory.Limit + s.from.Samples.Most(), Used: memory.Used + sampled, Parts: map[string]int64{
		"keys": int64(memory.KeyPages) * page, "rings": int64(memory.RingPages) * page, "sketch": memory.Sketch, "history": s.from.History.Bytes(), "samples": sampled,
	}}
	for _, t := range g.Tables() {
		one := t.Counts.Stats()
		out.Keys += one.Keys
		out.Rings += one.Rings
		out.Expired += one.Expired
		out.Evicted += one.Evicted
		out.Refused += one.Refused
		out.Undercounted += one.Undercounted
	}
	return out
}

// fleet returns what the node keeps for its fleet, and that the fleet cannot be
// joined: a link that runs reports the rest. It is nil for a node alone.
func (s *Status) fleet(g Generation) *admin.Fleet {
	if g.Config.Fleet == nil {
		return nil
	}
	f := &admin.Fleet{Namespace: g.Config.Fleet.Namespace, Trouble: "config", Fix: "the fleet's settings are invalid: see the log"}
	if k := g.Config.Fleet; k.RequireKey {
		f.KeyMode = "require"
	} else if k.KeyFile != "" {
		f.KeyMode = "accept"
	}
	c := g.Totals.Stats()
	f.Quiet, f.Suspects, f.Watched = c.Quiet, c.Suspects, c.Watched
	f.HeldBack, f.Displaced = c.HeldBack, c.Displaced
	f.Reconciled, f.FullPushes, f.Refused = c.Reconciled, c.FullRequested, c.Refused
	h := s.from.Quarantine.Stats()
	f.Held, f.Came, f.Confirmed, f.Proven, f.Released, f.NotRecorded = h.Held, h.Total, h.Confirmed, h.ConfirmedByCounts, h.AdmittedLater, h.NotRecorded
	return f
}

// FleetHeld implements admin.Reader.
func (s *Status) FleetHeld(ctx context.Context) (admin.FleetHeld, error) { return s.from.Held(ctx) }
