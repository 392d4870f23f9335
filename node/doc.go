// Package node runs one node as a whole. It connects the sensors, the rules, the blocklist,
// the enforcers, the fleet and the admin API, and keeps the counts over a restart.
//
//	sensors.go (auth, logs) ──▶ pipeline ──▶ journal.go ──▶ log, adminapi.go
//	                               │
//	                           blocklist ──▶ lists, fleetlink
//
// A [Node] is made of parts, each of which holds only what it uses; wiring.go
// connects them. Listeners, logs, enforcers and the link to the fleet are
// services: package supervisor runs them, and runs them again when they fail.
//
// Every goroutine of a node has ended when [Node.Run] returns. A port in use, a
// log that cannot be read or a state folder that cannot be written is an alarm
// and is tried again. Only a node that would see nothing at all does not start.
//
// It decides nothing itself: see packages detector and rules.
package node
