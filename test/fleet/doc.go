// Package fleet does to a fleet of nodes and its Redis what will happen to
// them: it kills, hangs, fills, empties and partitions them and sends them
// false data. Then it checks that every total is still the sum of what the
// nodes counted, and that every node's list is the same.
//
// A node here is the detector, the block list, the aggregator and the link to
// Redis, wired as package node wires them, without sensors. Redis is a real
// redis-server behind a proxy that breaks connections. A naive model remembers
// every event that a node counted; at checkpoints it is compared with what
// Redis stores, key by key and node by node.
//
// Each test runs for seconds in an ordinary `go test` and at full length with
// TORTURE=1:
//
//	TORTURE=1 go test -count=1 -v -timeout 100m ./test/fleet
//
// Random choices come from a seed that is printed; SEED=N repeats them. The
// order in which processes and packets meet is not chosen by it, so a seed
// repeats the traffic and the faults but not every interleaving. All traffic
// stays on loopback.
//
// The figures of a fleet are benchmarks, which docs/figures.md has beside their goals:
//
//	go run ./loadtest report -only crossing,redis
//
// No package of edgeguard imports it.
package fleet
