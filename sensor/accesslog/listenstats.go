package accesslog

// ListenStats says what a listener has received.
//
// What the kernel drops of UDP is counted. What it drops of a full unix datagram
// queue is not: the sender's send fails, and nginx and HAProxy go on. Full counts
// how often it may have happened, each of one line or of thousands; what was lost is found by
// comparing Lines with the sender's own count (nginx's stub_status requests, HAProxy's
// DroppedLogs in show info), or avoided by following a file. Streams make the sender wait while they are connected. HAProxy
// does not wait: what its ring has no room for it drops, and says how much.
type ListenStats struct {
	LiveStats
	Datagrams uint64 // received
	Cut       uint64 // of them longer than 256 KiB, and not whole
	// Full counts how often more datagrams were waiting than the kernel's queue
	// holds (net.unix.max_dgram_qlen): it was full, and some are probably lost. A sender
	// whose own buffer is full (net.core.wmem_default) loses lines before that, unseen.
	Full uint64
	// Queue is how many datagrams the kernel's queue holds, 0 where it is not
	// known or does not apply.
	Queue int
	// Foreign datagrams were not read: by UDP from a sender that From does not
	// name, or without the priority that begins a message of syslog.
	Foreign uint64
	// Dropped is how many UDP datagrams the kernel dropped, because the receive
	// buffer was full, or how many messages HAProxy said that its ring had no room for.
	// It is known when the next one arrives.
	Dropped uint64
	// Buffer is the receive buffer of UDP in bytes, as the kernel gave it.
	Buffer int
	// Connections were accepted, Open of them are now, Refused were too many.
	Connections, Refused uint64
	Open                 int
	// Broken counts the connections that ended inside a line, which was dropped.
	Broken uint64
}

// Stats says what has been received.
func (l *Listener) Stats() ListenStats {
	live := l.in.read()
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.stats
	s.LiveStats, s.Open = live, len(l.slots)
	return s
}

// count changes the counts.
func (l *Listener) count(change func(*ListenStats)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(&l.stats)
}
