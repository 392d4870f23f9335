package scan

// This file is what the parsers of all formats share: the [Fields] that they
// fill and that become an event, the [Reason] why a line makes none, and the
// interfaces through which package logline drives a parser.
