package main

// taken is decisions of a CrowdSec, and queued what a decision of ours pays for being reported.
var (
	taken  = benchRun{dir: "node/crowdsec", pattern: "^BenchmarkTaken$"}
	queued = benchRun{dir: "crowdsec/alerts", pattern: "^BenchmarkOffer$"}
)

func decisionsGroup() group {
	return group{
		name:  "decisions",
		title: "Decisions of CrowdSec",
		note: "100,000 decisions of `crowdsec.decisions`, asked for over HTTP on loopback, read, and held. The server has its answer ready; CrowdSec 1.4.6 takes some 3.5 s " +
			"to make it. Memory is what is held afterwards.",
		lines: []figure{
			metric("100,000 decisions, the first time", atMost(3000, "ms"), taken, "Taken", "first-ms"),
			metric("the same list again, as each hour", stated("ms"), taken, "Taken", "again-ms"),
			metric("memory for them", stated("MiB"), taken, "Taken", "held-MiB"),
			metric("a block that is queued to be reported", atMost(1000, "ns"), queued, "Offer", "ns/op"),
		},
	}
}
