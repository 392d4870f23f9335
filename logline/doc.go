// Package logline makes an [edgeguard.Event] of each line of a log, whatever its format.
// It receives bytes and opens nothing: package sensor/accesslog reads files,
// follows them, and receives lines from sockets.
//
// A [Format] says how the lines are laid out. [ParseFormat] reads it as an
// operator writes it, [Detect] finds it by a log's first lines, and its Parser
// reads one log:
//
//	format ─▶ Parser ◀─ Begin: the line that names the columns, where there is one
//	text in a Chunk ─▶ Parser.Parse ─▶ its Events, Uncounted and totals
//
// Package formats has the parsers of fixed formats and of JSON, package pattern those
// that follow a description, such as nginx's log_format or an expression. Both are made
// of package scan, which reads values. The formats with a name are in one table, in
// known.go.
//
// Lines are read by format, never searched. That is what keeps a client from
// writing another's address into the log. A field ends where the server ends it:
// Apache, nginx and HAProxy escape a quote or a tab inside a client's text, so
// neither can be forged. A format that has no address written by the server is
// refused. A line that can be read in two ways is skipped and counted, and so is
// any other that does not fit.
//
// A line whose end is missing, because it is longer than 64 KiB or its server cut
// it short, is an event of the fields that end before: a cut field is unknown,
// and nothing behind it is used. A JSON line is read to its end instead, in
// pieces, because only there it is known which of its addresses counts. What
// makes no event, or one that lacks fields, is reported as [edgeguard.Uncounted].
//
// Of JSON only the names can be checked. Your own format must put under
// remote_addr, client_ip, ip and their like what the server knows, $remote_addr,
// and never a header such as X-Forwarded-For: a client writes that, and could
// have any address blocked.
//
// # Delimited files
//
// The first line of a delimited file names its columns, and the format says which
// of them hold what:
//
//	csv:time=datetime,addr=src,node=host
//
// time and addr are required; node, host, method, path, status, agent and port
// are optional. sep= sets another delimiter (a character, or tab, space, comma, semicolon,
// pipe), and so does csv;: before the columns. Fields may be quoted, with "" for a
// quote (RFC 4180). A time is RFC 3339, 2006-01-02 15:04:05 with or without a
// fraction, the common log format's, or a number of seconds, milli-, micro- or
// nanoseconds since 1970. An address is one, or an IPv4 address as a number.
//
// # Regular expressions
//
// Any other log is read by an expression with named groups, as package
// pattern says:
//
//	regex:{sshd}(?P<auth_failure>Failed) password for .* from (?P<addr>[^ ]+) port \d+
//
// The package does no I/O and reads no clock. Nothing is allocated for a line,
// except for one that an expression matches, and for one in JSON that is longer than
// a chunk.
package logline
