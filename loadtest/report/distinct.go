package report

// distincts compare tables of marks with tables of counts, in turns in one process.
var (
	distincts    = benchRun{dir: "shard", pattern: "^BenchmarkDistinct$"}
	distinctLogs = benchRun{dir: "replay", pattern: "DistinctLog"}
)

func distinctGroup() group {
	return group{
		name:  "distinct",
		title: "Different values",
		note: "`count: {distinct: path}`, as a multiple of a plain count of the same events. Log: the failing requests of a WordPress log, with 64 copies of each client. Cold: " +
			"524,288 keys, each with so many values in one slot (65,536 keys with 100 values). Bytes are beside the entry.",
		lines: []figure{
			metric("a log's failing paths", atMost(2, "×"), distinctLogs, "DistinctLog", "times"),
			metric("the same: bytes a key", atMost(15, "B"), distinctLogs, "DistinctLog", "B/key"),
			metric("cold keys of 20 values, batches of 64", atMost(3.5, "×"), distincts, "Distinct/cold/20/batch", "times"),
			metric("cold keys of 20 values, one by one", stated("×"), distincts, "Distinct/cold/20/lone", "times"),
			metric("the same: bytes a key", stated("B"), distincts, "Distinct/cold/20/lone", "B/key"),
			metric("cold keys of 100 values: bytes a key", stated("B"), distincts, "Distinct/cold/100/batch", "B/key"),
			metric("cold keys of 2 values, batches of 64", atMost(2, "×"), distincts, "Distinct/cold/2/batch", "times"),
			metric("one busy key of 20 values", atMost(2, "×"), distincts, "Distinct/busy/20", "times"),
			metric("one busy key of 400 values", stated("×"), distincts, "Distinct/busy/400", "times"),
		},
	}
}
