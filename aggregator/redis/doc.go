// Package redis joins one node to the others of its fleet over a Redis (7 or
// later) or a Redis Cluster.
//
//	Link.Run ── session: join, then until something breaks, side by side
//	  push loop       counts up:   Collect ▶ push function ▶ Answered ▶ Peer.Over
//	  receive loop    blocks down: streams of changes and of watched keys ▶ Peer.Merge
//	  publish loop    blocks up:   Link.Changed ▶ publish function
//	  heartbeat loop  who is alive, whose clock is wrong, does the list agree
//	  threshold loop  what operators set for the whole fleet
//
// Link makes the parts, and starts and ends the loops. Each part has the state of
// one of these things, and says whose it is.
//
// Join reads the fleet's whole list, publishes what the node knows better,
// repeats the unblocks of the last window, reads what was watched in it, and
// reconciles every suspect: so the nodes refill a Redis that was emptied or
// went back in time. Whatever breaks ends the session. The node then decides
// alone, and Run joins again after a jittered wait. A request never waits for
// anything here.
//
// The function library (library.lua, blocks.lua) writes the counts, the blocks and
// the heartbeats in Redis; internal/redistwin is its reference in Go. A Pusher is
// the counting half without goroutines, for replays.
//
// The package decides nothing: package aggregator says what is pushed, what an
// answer means and what a record may contain, and the block list says who is
// blocked.
package redis
