package formats

// This file reads lines that another program has wrapped in JSON: docker's
// json-file, journald's JSON, Vector and Fluent Bit. One envelope is taken off, and
// the line inside goes to the parser of its own format.
