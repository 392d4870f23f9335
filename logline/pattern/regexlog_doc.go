package pattern

// This file reads lines by regular expressions with named groups, as
// operators write them and as package services ships them.
//
// The group addr is the client. A client also writes into the line: its name, its
// path, its agent. So that none of this can move the address, [Compile] refuses an
// expression that can match some line in two ways, with the address at two places.
// An address is fixed from one end of the line if between the two there are only
// literals, and groups that cannot contain what ends them. The check is exact: it
// runs two readings of all lines side by side, on the automaton of the expression.
//
// What it cannot know is whether a group such as [^ ]* says the truth: where a
// server writes a name with blanks there, a client forges the line.
