package main

// A list that others publish: 100,000 entries by HTTPS.
var publishedList = benchRun{dir: "node/blocklists", pattern: "^BenchmarkList$", once: true}

func listsGroup() group {
	decision := func(what, unit string) figure { return metric(what, stated("ns"), publishedList, "List", unit) }
	return group{
		name:  "lists",
		title: "Lists that others publish",
		note: "One of `blocklists`: 100,000 entries, a fifth of them IPv6, fetched by HTTPS from a server on the same host, judged, put in force and kept on disk; and fetched " +
			"again with one in a hundred lifted and as many new. Decisions are taken one after the other meanwhile, half of them for addresses of the list, and for as long again without it.",
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
