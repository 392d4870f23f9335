package report

// finds look into what happened: a log as full as its default allows, and one of a million
// entries, whose files a kernel's cache has.
var (
	finds    = benchRun{dir: "eventlog", pattern: "^BenchmarkFind$", times: 50}
	handings = benchRun{dir: "eventlog", pattern: "^BenchmarkAdd$"}
)

func eventsGroup() group {
	const full, million = "Find/entries=190000/", "Find/entries=1000000/"
	return group{
		name:  "events",
		title: "What happened, on disk",
		note:  "The room of blocks at its default of 64 MiB, and one of a million entries (220 MiB), over 30 days; three entries are of the address.",
		lines: []figure{
			metric("an address, at a full log", atMost(50, "ms"), finds, full+"address", "ms"),
			metric("a network, at a full log", atMost(50, "ms"), finds, full+"network", "ms"),
			metric("a minute, at a full log", atMost(50, "ms"), finds, full+"minute", "ms"),
			metric("an address, of a million", atMost(200, "ms"), finds, million+"address", "ms"),
			metric("a network, of a million", atMost(200, "ms"), finds, million+"network", "ms"),
			metric("a minute, of a million", atMost(200, "ms"), finds, million+"minute", "ms"),
			metric("memory that a million take", atMost(4, "MiB"), finds, million+"heap", "MiB"),
			metric("allocations to hand one over", atMost(0, ""), handings, "Add", "allocs/op"),
		},
	}
}
