// Package pattern reads lines whose format is a pattern of fields and the text
// between them: nginx's log_format, Apache's LogFormat, and the formats with a
// name that are made of these.
//
// A pattern is compiled into a program of steps, one a field. Each step knows how
// its field's end is found: by its own shape, or by the text that follows it. What
// a client may have written ends only where no client can write.
package pattern
