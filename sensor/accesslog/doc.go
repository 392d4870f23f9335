// Package accesslog reads web-server logs as batches of [edgeguard.Event]. It reads files that
// are there ([Open]), files that grow ([Follower]), and lines that a server sends
// ([Listener]). How a line becomes an event, and why no client can write another's address
// into a log, is explained in package logline.
//
// A line's path, which is also the list of files:
//
//	file ─▶ blocks ─page─▶ logline ─events─▶ Strays ─▶ Reader.Next
//	growing file ─▶ tail ──┐
//	datagram, stream ──────┴──▶ inlet ─▶ logline ─▶ Live.Decide
//
// For a file that is there, one goroutine reads and parses (for a compressed file,
// one decompresses and one parses), and the caller decides. Pages go round between
// them, so nothing is allocated for a line, and the strings of an event point into
// its page. Live lines are decided as soon as they are whole, and as
// many together as have come.
//
// Prefer a followed file: through rotation and restart it loses nothing that the
// server wrote while the follower could open it. The exceptions are what a
// rotation in place cuts off between its copy and its emptying, and what was
// compressed or deleted while it was not followed. However far it is behind, a few
// dozen files are open and the others wait; one that is gone before its turn is
// counted (see [FollowStats]). The file must be on a file system of this host. An
// editor makes it a new file, whose lines are read again.
//
// A socket loses what is sent while it is closed, and a datagram socket what its
// short queue has no room for; [ListenStats] counts what can be known of it. Where
// a log cannot be read, the server is not disturbed and no client is refused:
// events are missing, and Trouble is called.
//
// The package does not decide: it knows no rule and no window, except that
// [Strays] needs to know how far ahead of its neighbours a timestamp may be.
package accesslog
