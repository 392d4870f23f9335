// Package yaml hides how the values of a YAML file are read with all that is wrong with
// them, each with its line, its column, its fix.
//
// [File.Document] returns the whole as a [Node], from which each section of a config
// reads its own fields. A value that has a problem already is read as its zero
// value, and reports nothing further. [Printer] writes settings back to YAML.
package yaml
