// Package config reads edgeguard's YAML file into checked settings.
//
// [Load] and [Parse] report everything that is wrong at once, each problem
// with its file, line and column and with what to do about it. What this
// version reads but does not act on yet is a warning in [Config.Warnings].
// A value of [Config] is safe for concurrent use as long as nobody changes it.
//
// The package does not know what a rule means: package rules compiles them,
// and this one gives its problems their place in the file. It does not watch
// the file, and opens nothing that the file names.
package config
