// Package traffic makes the traffic that edgeguard is shown and measured on:
// [Sample], the small attack that the project ships; [Log], an access log of
// any length; [Capture], a packet capture of any length.
//
// Everything is a function of its seed: the same call gives the same bytes on
// every machine. The sample draws integers only, because its bytes are
// compared with a file, and floating point may be fused differently by
// another processor.
//
// It is not a model of real traffic, and no threshold should be chosen by it:
// it has the sizes, the mix of formats and the skew that make a measurement
// honest. It reads no clock and starts no goroutine; the functions are safe
// for concurrent use, each call on its own writer.
package traffic
