// Package node wires one node: it gives the sensors their decider, the
// blocklist its enforcers, the operator a view, and keeps what was counted over
// a restart.
//
//	auth.go, logs.go ──▶ core.go (config, detector) ──▶ journal.go ──▶ log, admin
//	                          │
//	                      blocklist ──▶ outlets.go (enforcers)
//
// It starts every goroutine of a node, and all have ended when [Node.Run]
// returns. What can run runs: a port in use, a log that cannot be read or a
// state folder that cannot be written is an alarm and is tried again, and only
// a node that would see nothing at all does not start.
//
// It decides nothing itself and holds no rule: see packages detector and rules.
package node
