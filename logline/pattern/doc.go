// Package pattern hides how a line is read by a description of it: nginx's log_format,
// Apache's LogFormat, a regular expression with named groups, the name of a service.
//
// # Fields and the text between them
//
// A log_format is compiled into a program of steps, one a field. Each step knows how
// its field's end is found: by its own shape, or by the text that follows it. What
// a client may have written ends only where no client can write.
//
// # Expressions
//
// The group addr is the client. A client also writes into the line: its name, its
// path, its agent. So that none of this can move the address, [CompileExpressions]
// refuses an expression that can match some line in two ways, with the address at two
// places. An address is fixed from one end of the line if between the two there are only
// literals, and groups that cannot contain what ends them. The check is exact: it
// runs two readings of all lines side by side, on the automaton of the expression.
//
// What it cannot know is whether a group such as [^ ]* says the truth: where a
// server writes a name with blanks there, a client forges the line.
package pattern
