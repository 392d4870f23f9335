// Package fleet keeps what a node believes of the other nodes. That is who is there
// ([Roster], from heartbeats), which records of theirs it accepts ([Authority], by MACs),
// what the shared list of blocks holds ([Mirror], [Drift]), what it has still to publish
// ([PacedQueue]), which thresholds operators set for all ([ThresholdRecord]), and whether the
// node is joined ([Health]).
//
// It is pure: package redis reads and writes, and passes in the time.
package fleet
