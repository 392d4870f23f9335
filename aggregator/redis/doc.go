// Package redis is the fleet's wire: it joins one node to the others over a
// Redis (7 or later), or a Cluster of them.
//
//	Link.Run ── session: join, then until something breaks, side by side
//	  pushes     counts up:   Collect ▶ push function ▶ Answered ▶ Node.Over
//	  follow     blocks down: streams of changes and of watched keys ▶ Node.Merge
//	  publishes  blocks up:   Link.Changed ▶ publish function
//	  beats      who lives, whose clock is wrong, is the list the fleet's
//
// Join reads the fleet's whole list, publishes what the node knows better,
// repeats the unblocks of the last window, reads what was watched in it, and
// makes every suspect be pushed whole: so that a Redis that was emptied, or
// went back in time, is filled again by the nodes. Whatever breaks ends the
// session, the node decides alone meanwhile, and Run joins again after a
// jittered wait. A request never waits for anything here.
//
// What is stored is written by the function library alone (library.lua and
// blocks.lua; internal/redistwin says the same in Go), which Install loads. A
// Pusher is the counts' half without goroutines, for replays.
//
// It is not the decision: what is pushed, what an answer means and what a
// record may hold is package aggregator's, who is blocked the block list's.
package redis
