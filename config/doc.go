// Package config reads edgeguard's YAML file into checked settings.
//
// [Load] and [Parse] report all problems together, each with its file, line and
// column and its fix. What this version reads but does not act on yet is a
// warning in [Config.Warnings]. A value of [Config] is safe for concurrent use
// as long as it is not changed.
//
// Each section has a file: its type, the list of its keys, and what is checked between
// them. A key of package config/key is read, printed and documented by one line. Package
// config/yaml reads the values of a file, and writes them.
//
// What a rule means is not known here: package rules compiles them,
// and this one adds their place in the file to its problems. It does not watch
// the file, and opens nothing that the file names.
package config

//go:generate go test -count=1 -run ^TestConfigurationTables$ . -update
