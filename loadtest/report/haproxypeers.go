package report

var haproxyPeers = benchRun{dir: "loadtest/tools", pattern: "^BenchmarkTaught$", times: 1}

func haproxyPeersGroup() group {
	return group{
		name:  "haproxypeers",
		title: "HAProxy's peers protocol",
		note:  "The installed HAProxy, over a unix socket, with the lines that `edgeguard snippets haproxy-peers` prints.",
		lines: []figure{
			metric("100,000 blocks, from HAProxy's connection until it has all", atMost(3, "s"), haproxyPeers, "Taught", "s"),
		},
	}
}
