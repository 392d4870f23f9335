// Package quarantine keeps back blocks of other nodes that would refuse too much
// of what this node has just let in, until an operator confirms them or the node
// finds the same by its own rules.
//
//	fleet ──Admit──▶ within the budget? ──yes──▶ blocklist
//	                        └─no──▶ held ──Confirm, own counts, Sweep──▶ blocklist
//	                                  └───Withdraw, end──▶ dropped
//
// The budget is a share of the last five minutes' requests, measured on a sample
// that the detector keeps. The package is pure: it reads no clock and starts no
// goroutine.
package quarantine
