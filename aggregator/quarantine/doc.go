// Package quarantine keeps back blocks of other nodes that would refuse too much
// of what this node has just let in, until an operator confirms them or the node
// finds the same by its own rules. It also keeps back what is too wide, by itself or with
// all that is in force from elsewhere, and what comes faster than a node accepts it.
//
//	fleet ──Admit──▶ within the width, the budget and the pace? ──yes──▶ blocklist
//	                        └─no──▶ held ──Confirm, own counts, Sweep──▶ blocklist
//	                                  └───Withdraw, end──▶ dropped
//
// The budget is a share of the requests of the last five minutes, or of the last thousand,
// measured on a sample that the detector keeps. Room is bounded for the whole fleet and not by origin: an
// origin is a free text, and whoever forges one would silence a real node.
//
// The package is pure: it reads no clock and starts no goroutine.
package quarantine
