// Package accesslog reads web-server logs and hands over batches of
// [edgeguard.Event]: files that are there ([Open]), files that grow
// ([Follower]), and lines that a server sends ([Listener]).
//
// A line's path, which is also the list of files:
//
//	file ─▶ blocks ─page─▶ parser ─events─▶ Strays ─▶ Reader.Next
//	growing file ─▶ tail ──┐
//	datagram, stream ──────┴──▶ inlet ─▶ parser ─▶ Live.Decide
//
// Of a file that is there, one goroutine reads and parses (of a compressed file,
// one decompresses and one parses), and the caller decides: pages go round
// between them, so nothing is allocated for a line and the strings of an event
// point into its page. Live lines are decided as soon as they are whole, and as
// many at once as have come.
//
// Lines are read by format, never searched. That is what keeps a client from
// writing somebody else's address into the log: a field ends where the server
// ends it (a quote or a tab inside a client's text is escaped by Apache, nginx
// and HAProxy, so neither can be forged), and a format that has no address
// written by the server is refused. A line that can be read in two ways is
// skipped and counted, and so is any other that does not fit.
//
// Of JSON only the names can be checked. A format of one's own must put under
// remote_addr, client_ip, ip and their like what the server knows, $remote_addr,
// and never a header such as X-Forwarded-For: a client writes that, and could
// have anybody blocked.
//
// A followed file is the better way in: it loses nothing that the server wrote
// while the follower could open it, through rotation and restart, but for what a
// rotation in place cuts off between its copy and its emptying, and for what was
// compressed or deleted while nobody followed. It must be on a file system of
// this host, and who edits it makes it a new file, whose lines are read again. A socket loses what is sent while nobody listens, and a datagram
// socket what its short queue has no room for; [ListenStats] says what can be
// known of it. Where a log cannot be read the server is not disturbed and nobody
// is refused: events are missing, and Trouble is told.
//
// The package does not decide: it knows no rule and no window, except that
// [Strays] is told how far ahead of its neighbours a timestamp may be.
package accesslog
