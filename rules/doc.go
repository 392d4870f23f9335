// Package rules says which events count under which key. It says, too, what follows
// when the count passes a limit.
//
// [Compile] checks the [Spec] of every rule and makes the [Set] that the
// detector walks: each [Rule] compares one [Meter]'s count with its limit, and
// rules that count the same thing share a meter. A compiled set is immutable
// and safe for concurrent use.
//
// The package does not read files (package config does), does not count
// (package shard does) and does not decide (package detector does).
package rules
