// Package accesslog reads web-server logs and hands over batches of
// [edgeguard.Event].
//
// A line's path, which is also the list of files:
//
//	file ─▶ blocks ─page─▶ parser ─events─▶ Strays ─▶ Reader.Next
//
// One goroutine reads and parses (of a compressed file, one decompresses and one
// parses), and the caller decides: pages go round between them, so nothing is
// allocated for a line and the strings of an event point into its page.
//
// Lines are read by format, never searched. That is what keeps a client from
// writing somebody else's address into the log: a field ends where the server
// ends it (a quote or a tab inside a client's text is escaped by Apache, nginx
// and HAProxy, so neither can be forged), and a format that has no address
// written by the server is refused. A line that can be read in two ways is
// skipped and counted, and so is any other that does not fit.
//
// It is not a follower of growing files, and it does not decide: it knows no
// rule and no window, except that [Strays] is told how far ahead of its
// neighbours a timestamp may be.
package accesslog
