// Package fleet runs whole fleets of edgeguard in virtual time, on the traffic that
// algorithms and programs are compared on, and says what they let pass, whom they
// block and what they cost their Redis.
//
// What is run is the product's own: tables, totals, the bytes of pushes and answers,
// the proof by splits, the bytes of records (package fleetmodel, which the property
// tests of the aggregator judge). The functions of Redis are their twin in Go. What is
// modelled:
//
//   - The decision. A node refuses a request of a client that it has a block of, or of
//     which its own count and what it knows of the others' exceed the limit: threshold
//     times guard. It counts each request first, also of a client that it blocks, as the
//     detector does. A block lasts to the end of the run.
//   - The way of a block, and of an entry of the watch list, to the other nodes:
//     [Setup.FanOut] after it was made, on all at once.
//   - Time. A node pushes when its link would: each interval less up to a tenth, drawn.
//     An exchange with Redis takes no time unless a fault says so.
//   - A clock that stays wrong by up to [Setup.Skew]. Real nodes measure Redis' clock and
//     correct up to 2.5 s, so that this is what is left, or a clock that cannot be
//     corrected.
//   - Heartbeats and the reading of the streams are counted by their intervals, and not
//     run: every node knows who is alive.
//
// Not here: holding back other nodes' blocks (quarantine), signatures, figures for the
// console, the commands of joining, a Redis that is slow. Redis' processor time is not
// measured here but computed: commands times [Costs].
package fleet

import (
	"time"

	"edgeguard/loadtest/traffic"
	"edgeguard/rules"
)

// Setup is one run. The zero value of what has a default means that.
type Setup struct {
	Scenario traffic.Scenario
	Seed     uint64
	// Nodes is how many there are; 0: the scenario's. Where they are not the
	// scenario's, each request goes to a node that is drawn: by its client with Home,
	// else for itself.
	Nodes int
	Home  bool
	// MaxNodes and Quiet are the config's; MaxNodes is Nodes by default.
	MaxNodes int
	Quiet    bool
	Guard    rules.Guard   // default 0.95
	Push     time.Duration // default 500 ms
	FanOut   time.Duration // default 2 ms
	// Partitions are over how many names the counts are spread; default 16.
	Partitions int

	// Skew is how far a node's clock may stay off: one is ahead by so much, one
	// behind, and the others are drawn between.
	Skew time.Duration
	// The parts of all push calls that are lost, whose answers are lost, that come up
	// to 4.9 s late, and that come twice.
	Lost, Unanswered, Late, Repeated float64
	// Stalled is how many nodes never hear what their pushes were answered.
	Stalled int
	// Restarts and Kills are how often one of the nodes ends, cleanly or with all that
	// it had counted, and starts again. They need Until.
	Restarts, Kills int
	// Away is from when to when no node reaches Redis; with Emptied it has lost all
	// by then.
	Away    [2]time.Duration
	Emptied bool
	// Until is when the run ends, if the scenario goes on or not; 0: with the scenario.
	Until time.Duration
}

const (
	defaultGuard = rules.Guard(950_000)
	// meterID is the fingerprint of the one meter.
	meterID = 0x656467656775617264 >> 8
	// namespace is of the names in Redis; a real run that is compared uses the same.
	namespace = "test"
)

func (s *Setup) setDefaults() {
	if s.Nodes == 0 {
		s.Nodes = max(s.Scenario.Nodes, 1)
	}
	if s.MaxNodes == 0 {
		s.MaxNodes = s.Nodes
	}
	if s.Guard == 0 {
		s.Guard = defaultGuard
	}
	if s.Push == 0 {
		s.Push = 500 * time.Millisecond
	}
	if s.FanOut == 0 {
		s.FanOut = 2 * time.Millisecond
	}
	if s.Partitions == 0 {
		s.Partitions = 16
	}
}
