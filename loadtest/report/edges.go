package report

var authDirect = benchRun{dir: "loadtest/tools", pattern: "^BenchmarkDirect$", times: 1}

func edgesGroup() group {
	auth := func(what, name string) figure {
		return metric(what, atMost(1.5, "×"), authDirect, "Direct/"+name, "times-floor")
	}
	return group{
		name:  "edges",
		title: "Forward auth without a proxy",
		note:  "The processor time of the process, against a loop around epoll that answers a constant (the floor), by turns; the least of 12.",
		lines: []figure{
			auth("1 connection, kept, over the floor", "kept/1"),
			auth("64 connections, kept", "kept/64"),
			auth("a connection a request, one after the other", "fresh/1"),
			auth("the same, 64 at once", "fresh/64"),
		},
	}
}
