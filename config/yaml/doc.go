package yaml

// This file reads the values of a YAML file, and collects all that is wrong with
// them, each with its line, its column and its fix.
//
// [File.Document] returns the whole as a [Node], from which each section of a config
// reads its own fields. A value that has a problem already is read as its zero
// value, and reports nothing further.
