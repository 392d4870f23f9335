package report

// haproxyPeers runs HAProxy with edgeguard and without, once for all figures.
var haproxyPeers = benchRun{dir: "loadtest/haproxyload", pattern: "Request|Counts|Reloads|Crossing|Taught", times: 1}

func haproxyPeersGroup() group {
	return group{
		name:  "haproxypeers",
		title: "HAProxy's peers protocol",
		note: "The installed HAProxy counts for edgeguard and refuses for it, over a unix socket. Requests are compared with those of the same process's " +
			"frontend without all of it, by turns of 100,000 from 10,000 addresses over 8 connections. Processor time is what HAProxy takes more, " +
			"and edgeguard's. The clients run on the same machine. A crossing is read within the reader's pause of 20 ms.",
		lines: []figure{
			metric("processor time for a request, of both", atMost(7, "µs"), haproxyPeers, "Request", "cpu-µs/req"),
			metric("edgeguard's of it", atMost(2, "µs"), haproxyPeers, "Request", "own-µs/req"),
			metric("a request, median, as a multiple of one without", atMost(1.3, "×"), haproxyPeers, "Request", "p50-times"),
			metric("the same, 99th percentile", atMost(1.3, "×"), haproxyPeers, "Request", "p99-times"),
			metric("500,000 requests: how many the count is off", atMost(0, ""), haproxyPeers, "Counts", "off"),
			metric("10 reloads under load: counted more than requested", atMost(0, ""), haproxyPeers, "Reloads", "over"),
			metric("the same: counted less", atMost(0.05, "%"), haproxyPeers, "Reloads", "under-%"),
			metric("from the crossing request to the first 429, median", atMost(20, "ms"), haproxyPeers, "Crossing", "p50-ms"),
			metric("the same, 99th percentile", atMost(50, "ms"), haproxyPeers, "Crossing", "p99-ms"),
			metric("100,000 blocks, from HAProxy's connection until it has all", atMost(3, "s"), haproxyPeers, "Taught", "s"),
		},
	}
}
