package report

// decides are the detector's benchmarks, with one count on the same keys
// beside them.
var (
	decides   = benchRun{dir: "loadtest/core", pattern: "^(BenchmarkDecide|BenchmarkCount)$"}
	everybody = benchRun{dir: "detector", pattern: "Everybody"}
	decidesV6 = benchRun{dir: "loadtest/core", pattern: "DecideV6", times: 2_000_000} // its tables take long to fill
)

func decideGroup() group {
	return group{
		name: "decide", quick: true,
		title: "One verdict: `detector.Decide`",
		note:  "A million keys, an allowlist and a blocklist of 100,000 prefixes, and two rules: one counts every request, one only logins, one request in 256.",
		lines: []figure{
			multiple("one verdict, as a multiple of one `shard.Add`", stated("×"), decides, "Decide/single", "Count/single").in(fastQuestion),
			multiple("batches of 64, as a multiple of `shard.AddBatch`", stated("×"), decides, "Decide/batch64", "Count/batch64"),
			multiple("IPv6, wide networks counted, 16 full /48s, as a multiple of without", stated("×"), decidesV6, "DecideV6/dense/wide=report/single", "DecideV6/dense/wide=off/single"),
			multiple("the same in batches of 64", stated("×"), decidesV6, "DecideV6/dense/wide=report/batch64", "DecideV6/dense/wide=off/batch64"),
			multiple("each alone in its /48, which is as bad as it gets", stated("×"), decidesV6, "DecideV6/alone/wide=report/single", "DecideV6/alone/wide=off/single"),
			multiple("two goroutines beside one, where a rule of all requests shares a key: decisions a second", atLeast(1.3, "×"), everybody, "Everybody/1", "Everybody/2"),
			metric("allocations", atMost(0, ""), decides, "Decide/single", "allocs/op"),
			metric("allocations, batches of 64", atMost(0, ""), decides, "Decide/batch64", "allocs/op"),
		},
	}
}
