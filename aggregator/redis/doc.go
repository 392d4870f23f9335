// Package redis joins one node to the others of its fleet over a Redis (7 or
// later) or a Redis Cluster.
//
//	Link.Run ── session: join, then until something breaks, side by side
//	  pushLoop       counts up:   Collect ▶ push function ▶ Answered ▶ Peer.Over
//	  receiveLoop    blocks down: streams of changes and of watched keys ▶ Peer.Merge
//	  publishLoop    blocks up:   Link.Changed ▶ publish function
//	  heartbeatLoop  who is alive, whose clock is wrong, does the list agree
//
// Join reads the fleet's whole list, publishes what the node knows better,
// repeats the unblocks of the last window, reads what was watched in it, and
// reconciles every suspect: so the nodes refill a Redis that was emptied or
// went back in time. Whatever breaks ends the session. The node then decides
// alone, and Run joins again after a jittered wait. A request never waits for
// anything here.
//
// Only the function library (package library) writes what is stored;
// internal/redistwin is its reference in Go. A Pusher is the counting half
// without goroutines, for replays.
//
// The package decides nothing: package aggregator says what is pushed, what an
// answer means and what a record may contain, and the block list says who is
// blocked.
package redis
