// Package config reads edgeguard's YAML file into checked settings.
//
// [Load] and [Parse] report all problems together, each with its file, line and
// column and its fix. What this version reads but does not act on yet is a
// warning in [Config.Warnings]. A value of [Config] is safe for concurrent use
// as long as it is not changed.
//
// Package config/read reads the values of a file, and config/write writes them. A
// section may be a package of its own on these two: its type, its checks and its way
// back to YAML.
//
// The package does not know what a rule means: package rules compiles them,
// and this one adds their place in the file to its problems. It does not watch
// the file, and opens nothing that the file names.
package config
