package report

// The list of blocks, and a start with a large state.
var (
	blockFinds = benchRun{dir: "blocklist", pattern: "^(BenchmarkFind|BenchmarkMerge|BenchmarkEvict|BenchmarkRefused)$", times: 100_000}
	nodeStart  = benchRun{dir: "node", pattern: "^BenchmarkStart$", times: 3}
)

func blocksGroup() group {
	return group{
		name:  "blocks",
		title: "The list of blocks",
		note:  "Each look-up asks for another address, and so waits for memory. *Between* is an address between two that are blocked. A start reads a million keys and 100,000 blocks.",
		lines: []figure{
			metric("a look-up that finds nothing, among 100,000", atMost(200, "ns"), blockFinds, "Find/miss/100000", "ns/op"),
			metric("among 1 million", atMost(200, "ns"), blockFinds, "Find/miss/1000000", "ns/op"),
			metric("between blocked ones, among 100,000", atMost(200, "ns"), blockFinds, "Find/near/100000", "ns/op"),
			metric("among 1 million", atMost(200, "ns"), blockFinds, "Find/near/1000000", "ns/op"),
			metric("a look-up of a blocked address, among 100,000", atMost(200, "ns"), blockFinds, "Find/hit/100000", "ns/op"),
			metric("among 1 million", atMost(200, "ns"), blockFinds, "Find/hit/1000000", "ns/op"),
			metric("one more block among 1 million, median", stated("µs"), blockFinds, "Merge/1000000", "µs-p50"),
			metric("the same, 99.99th percentile", atMost(1000, "µs"), blockFinds, "Merge/1000000", "µs-p99.99"),
			metric("memory of a block", stated("B"), blockFinds, "Merge/1000000", "B/block"),
			metric("one more block that evicts another, among 1 million", stated("ns"), blockFinds, "Evict/1000000", "ns/op"),
			metric("noting a refusal, look-up included, among 100,000", stated("ns"), blockFinds, "Refused/100000", "ns/op"),
			metric("a start, until the first answer", atMost(2000, "ms"), nodeStart, "Start", "ns/op").times(1e-6),
		},
	}
}

// A list that others publish: 100,000 entries by HTTPS.
var publishedList = benchRun{dir: "node/neighbours", pattern: "^BenchmarkList$", times: 1}

func listsGroup() group {
	decision := func(what, unit string) figure { return metric(what, stated("ns"), publishedList, "List", unit) }
	return group{
		name:  "lists",
		title: "Lists that others publish",
		note:  "One of `blocklists`: 100,000 entries, fetched by HTTPS on the same host, judged, put in force and kept; and again with one in a hundred lifted and as many new. Decisions are taken meanwhile.",
		lines: []figure{
			metric("both fetches, until all is in force", atMost(3000, "ms"), publishedList, "List", "both-ms"),
			metric("the first of them", stated("ms"), publishedList, "List", "first-ms"),
			metric("the second, with 1,000 lifted and 1,000 new", stated("ms"), publishedList, "List", "next-ms"),
			decision("a decision while lists are taken in: 99th percentile", "beside-p99-ns"),
			decision("the same without, in the same run", "alone-p99-ns"),
			decision("a decision while lists are taken in: 99.9th percentile", "beside-p99.9-ns"),
			decision("the same without, in the same run", "alone-p99.9-ns"),
		},
	}
}
