// Package scan hides in which forms servers write values into their logs: addresses,
// times, escaped text, the prefix of a syslog daemon.
//
// Each function reads from the start of a slice and returns how much it took. None
// allocates. Beside them is what the parsers of all formats share: the [Fields] that
// they fill and that become an event, the [Reason] why a line makes none, and the
// interfaces through which package logline drives a parser.
package scan
