package report

var (
	authDirect = benchRun{dir: "loadtest/authhop", pattern: "^BenchmarkDirect$", times: 1}
	haproxyLog = benchRun{dir: "loadtest/haproxyload", pattern: "^BenchmarkLog(Bursts)?$", times: 1}
)

func edgesGroup() group {
	auth := func(what, name string) figure {
		return metric(what, atMost(1.5, "×"), authDirect, "Direct/"+name, "times-floor")
	}
	line := func(what, name string) figure {
		return metric(what, atMost(12, "µs"), haproxyLog, "Log/"+name, "own-µs/line")
	}
	return group{
		name:  "edges",
		title: "Forward auth, and HAProxy's log",
		note: "Forward auth as nginx's snippet asks, without nginx: the processor time of the process, against a loop around epoll that answers a constant " +
			"(the floor), by turns; the least of 12. HAProxy's log by `unixgram:` with net.unix.max_dgram_qlen at 4,096, and two threads of HAProxy: " +
			"edgeguard's time for a line, by the kernel's ticks. What asks runs on the same machine.",
		lines: []figure{
			auth("1 connection, kept, over the floor", "kept/1"),
			auth("64 connections, kept", "kept/64"),
			auth("a connection a request, one after the other", "fresh/1"),
			auth("the same, 64 at once", "fresh/64"),
			line("a line of HAProxy's log, 1 client", "1"),
			line("8 clients", "8"),
			line("64 clients", "64"),
			metric("2,000 requests at once: lines that are lost", stated("%"), haproxyLog, "LogBursts", "lost-%"),
		},
	}
}
