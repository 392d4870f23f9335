package report

// The folder of names, which the real nginx asks.
var (
	namesCrossing = benchRun{dir: "test/recipes", pattern: "^BenchmarkCrossing$", times: 200}
	namesCost     = benchRun{dir: "test/recipes", pattern: "^BenchmarkNamesCost$", times: 7}
	namesFolder   = benchRun{dir: "enforce/names", pattern: "^BenchmarkFolder$", times: 3}
)

func namesGroup() group {
	return group{
		name:  "names",
		title: "Blocks in a folder of names",
		note:  "nginx refuses by `if (-f …)`, edgeguard counts from its log: one client after the other. What a request costs is processor time of nginx's worker, over that without the test.",
		lines: []figure{
			metric("from the crossing request to the first 429, of an unbuffered log: 99th percentile of 200 clients", atMost(50, "ms"), namesCrossing, "Crossing/unbuffered", "p99-ms").in(blockQuestion),
			metric("the same: median", stated("ms"), namesCrossing, "Crossing/unbuffered", "p50-ms"),
			metric("requests that pass meanwhile, one each millisecond: median", atMost(10, ""), namesCrossing, "Crossing/unbuffered", "more"),
			metric("the same with 90,000 other blocks: 99th percentile", atMost(50, "ms"), namesCrossing, "Crossing/unbuffered-90000", "p99-ms"),
			metric("of a log with `flush=50ms`: 99th percentile", atMost(150, "ms"), namesCrossing, "Crossing/flush=50ms", "p99-ms"),
			metric("from an operator's block of a /24, by the API, to the first 429 inside: median of 200", atMost(50, "ms"), namesCrossing, "Crossing/network", "p50-ms"),
			metric("the same: 99th percentile", stated("ms"), namesCrossing, "Crossing/network", "p99-ms"),
			metric("a request, IPv4, an empty folder", atMost(4, "µs"), namesCost, "NamesCost", "µs-empty-v4"),
			metric("a request, IPv6, an empty folder", atMost(4, "µs"), namesCost, "NamesCost", "µs-empty-v6"),
			metric("a request, IPv4, 100,000 names", atMost(6, "µs"), namesCost, "NamesCost", "µs-full-v4"),
			metric("a request, IPv6, 100,000 names", atMost(6, "µs"), namesCost, "NamesCost", "µs-full-v6"),
			metric("100,000 names, where none were", stated("ms"), namesFolder, "Folder/fill", "ms"),
			metric("the list of each minute, nothing changed", stated("ms"), namesFolder, "Folder/compare", "ms"),
		},
	}
}
