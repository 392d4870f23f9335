// Package traffic makes the traffic that edgeguard is measured on: [Log], an access log
// of any length; [Capture], a packet capture of any length; [Scenarios], requests
// against one limit, which ways to limit a rate are compared on.
//
// Everything is a function of its seed: the same call gives the same bytes on
// every machine. The scenarios draw integers only, because what they make is
// compared, and floating point may be fused differently by another processor.
//
// It is not a model of real traffic, and no threshold should be chosen by it:
// it has the sizes, the mix of formats and the skew that make a measurement
// honest. It reads no clock; the functions are safe for concurrent use, each
// call on its own writer.
package traffic
