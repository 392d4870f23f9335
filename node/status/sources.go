// Package status answers what the admin API asks of a node, such as its blocks, its rules, its
// figures.
//
// It reads and changes nothing but a history of what it has read: [Sources] has no
// method that blocks, clears or replaces anything. What an operator changes goes through package node.
package status

import (
	"context"
	"iter"
	"net/netip"
	"time"

	"edgeguard"
	"edgeguard/admin"
	"edgeguard/admin/watch"
	"edgeguard/aggregator"
	"edgeguard/aggregator/fleet"
	"edgeguard/aggregator/quarantine"
	"edgeguard/attack"
	"edgeguard/blocklist"
	"edgeguard/config"
	"edgeguard/detector"
	"edgeguard/node/alarm"
	"edgeguard/node/evidence"
	"edgeguard/node/pipeline"
	"edgeguard/rules"
	"edgeguard/shard"
	"edgeguard/tuning"
)

// Sources is what a Status reads: values, functions and interfaces without a
// method that changes the node. All are safe for concurrent use.
type Sources struct {
	Version    string
	Begun      time.Time // when the node was made, local
	Clock      Clock
	List       List
	Imported   Imported
	Imports    func() admin.Imports
	Quarantine Quarantine
	// Current returns the generation in force. An answer takes it once: rules
	// are numbered by their generation.
	Current func() Generation
	Memory  func() shard.MemoryStats
	// Verdicts passes on what was counted by source, Crossings returns how often
	// a rule did something.
	Verdicts  func(func(by pipeline.Ruling, n uint64))
	Crossings func(by pipeline.Ruling) uint64
	// Conditions returns the alarms that are active.
	Conditions func() []alarm.Condition
	// Report adds the figures of the services and of the node's other parts.
	Report func(*admin.Stats)
	// Rates returns what the node did lately, Minute what it did in the last minute, Day
	// in each minute of a day.
	Rates  func() []watch.Series
	Day    func() []watch.DayMinute
	Minute func() watch.Minute
	// Overlay returns what operators changed of a rule, Unused what of it is not in
	// force.
	Overlay func(rule string) config.RuleOverlay
	// Layers returns what decides of a rule's threshold instead of the config, and the
	// fleet's threshold.
	Layers func(rule string) (*admin.Overlay, *admin.FleetThreshold)
	Unused func() []admin.Unused
	// History is where KeepHistory keeps what it sees.
	History *tuning.History
	// Refuses returns a function that returns the name of the enforcer that refuses
	// what a block is about before the node sees it; empty for none.
	Refuses func() func(*edgeguard.Block) string
	// Why returns why an address is protected.
	Why func(netip.Addr) string
	// Evidence returns what a key had counted when this node blocked it.
	Evidence func(prefix netip.Prefix, now time.Time) (edgeguard.Evidence, bool)
	// Customers returns that of the newest of its blocks that last and may be customers', at most n.
	Customers func(now time.Time, n int) []edgeguard.Evidence
	// Samples has requests of keys that are blocked or near a limit; nil for none.
	Samples *evidence.Samples
	// Nodes returns the fleet's nodes, Shares what each of them counts of keys:
	// nil where Redis cannot be asked.
	Nodes  func() []admin.FleetNode
	Shares func(ctx context.Context, keys []aggregator.Key, settle bool) [][]admin.NodeCount
	// Alike reports whether another node counts by the rule of this name what this one does.
	Alike func(rule, node string) bool
	// Said returns what the fleet's nodes say of their work, and has them say it, also of spans.
	Said func(spans ...aggregator.Span) []fleet.Said
	// Crowd returns who came to a key without an address, with local times.
	Crowd func(now time.Time, rule, with string, since time.Time) (attack.Crowd, bool)
	// MayBeCustomer reports whether pages were served to a prefix.
	MayBeCustomer func(now time.Time, prefix netip.Prefix) bool
	// With returns the attributes of a key without an address by their fingerprint; empty if they are not known.
	With func(fingerprint uint64) string
	// Attacks returns what this node tells the others of its attacks.
	Attacks func() string
	// Held asks the fleet's other nodes which records they hold.
	Held func(context.Context) (admin.FleetHeld, error)
}

// Clock is what is read of the node's clock.
type Clock interface {
	Now() time.Time
	Epoch(local time.Time) time.Time
	Local(epoch time.Time) time.Time
}

// List is what is read of the blocklist.
type List interface {
	AllFrom(now time.Time, from netip.Prefix) iter.Seq[edgeguard.Block]
	Count(of func(blocklist.Common) bool) (n int, ok bool)
	Newest(now time.Time, only blocklist.Only, after blocklist.Place) iter.Seq[edgeguard.Block]
	Refusals(prefix netip.Prefix) (events uint32, last time.Time, ok bool)
	Became(prefix netip.Prefix) blocklist.Became
	Around(now time.Time, prefix netip.Prefix) []edgeguard.Block
	BlockOf(now time.Time, prefix netip.Prefix) *edgeguard.Block
	Allowances(now time.Time) iter.Seq[edgeguard.Block]
	Allowance(now time.Time, prefix netip.Prefix) (edgeguard.Block, bool)
	ProtectedIn(prefix netip.Prefix, most int) []netip.Prefix
	Stats() blocklist.Stats
}

// Quarantine is what is read of the blocks that await confirmation.
type Quarantine interface {
	HeldRecords() []quarantine.Held
	Stats() quarantine.Stats
}

// Generation is what is read of a config and the detector that goes by it.
type Generation struct {
	Config   *config.Config
	Detector Detector
	Tables   func() []MeterTable
	// Totals and Key are nil for a node alone.
	Totals interface{ Stats() aggregator.Stats }
	Key    func(rule string, prefix netip.Prefix) (aggregator.Key, bool)
}

// Detector is what is read of a detector.
type Detector interface {
	Explain(now time.Time, addr netip.Addr) detector.Explanation
	Glance(now time.Time, addr netip.Addr) detector.Explanation
	ExplainKey(now time.Time, rule, with string) (detector.RuleExplanation, bool)
	Stats() detector.Stats
	Tallies(rule int) []detector.Tally
	UncountedInOutage(rule int) uint64
}

// MeterTable is what is read of one of a detector's tables: see detector.Table.
type MeterTable struct {
	Meter     *rules.Meter
	Forgeable bool
	Wide      uint8
	Counts    Counts
}

// Counts is what is read of the counts in a table.
type Counts interface {
	Stats() shard.Stats
	Where(now uint32, wanted func(count uint32) bool, yield func(shard.Entry) bool)
}
