package report

// memories are the benchmarks of the shard package that fill a table with
// millions of keys and say what it weighs; each fills it once.
var memories = benchRun{dir: "shard", pattern: "Memory/mix|dense/(v4|v6|16-byte)$", times: 1}

// live collects the garbage beside ten million keys.
var live = benchRun{dir: "shard", pattern: "Live$", times: 1}

// floods drive a bounded table with more addresses than it can hold.
var floods = benchRun{dir: "shard", pattern: "Flood/(1|5)$", times: 1}

// growths time each decision while a table grows and while its keys are forgotten.
var growths = benchRun{dir: "loadtest/core", pattern: "Growth/(add|decide)/huge$", times: 1}

func memoryGroup() group {
	return group{
		name:  "memory",
		title: "Memory, growth and floods",
		note: "Nine keys in ten have up to 4 events, the others 5 to 255. In the flood 20 million fresh addresses come with 1 or 5 events each, against limits of 2,000 and 20 and 256 MB; " +
			"100 offenders cross, and 1,000 ordinary clients must not be blocked.",
		lines: []figure{
			metric("bytes a key, address keys", atMost(64, "B"), memories, "Memory/mix/v4", "B/key"),
			metric("bytes a key, IPv6 /64 keys", atMost(64, "B"), memories, "Memory/mix/v6", "B/key"),
			metric("bytes a key, 16-byte keys", atMost(80, "B"), memories, "Memory/mix/16-byte", "B/key"),
			metric("bytes a key, every key dense", atMost(165, "B"), memories, "Memory/dense/v4", "B/key"),
			metric("the same for IPv6 /64", atMost(165, "B"), memories, "Memory/dense/v6", "B/key"),
			metric("forced garbage collection, 10 million keys", atMost(10, "ms"), live, "Live", "ms/gc"),
			metric("a count while growing to 10 million keys, huge pages: p99", stated("µs"), growths, "Growth/add/huge", "grow-µs-p99"),
			metric("the same: p99.99", stated("µs"), growths, "Growth/add/huge", "grow-µs-p99.99"),
			metric("the same: max", stated("µs"), growths, "Growth/add/huge", "grow-µs-max"),
			metric("the same: max of a loop that only reads the clock", stated("µs"), growths, "Growth/add/huge", "grow-clock-µs-max"),
			metric("a decision while growing to 10 million keys, huge pages: p99.99", stated("µs"), growths, "Growth/decide/huge", "grow-µs-p99.99"),
			metric("the same: over 1 ms", stated(""), growths, "Growth/decide/huge", "grow-over-1ms"),
			metric("a decision on live keys while 8 million are forgotten: p99.99", stated("µs"), growths, "Growth/decide/huge", "expire-µs-p99.99"),
			metric("the same: over 1 ms", stated(""), growths, "Growth/decide/huge", "expire-over-1ms"),
			metric("the same: over 1 ms, of a loop that only reads the clock", stated(""), growths, "Growth/decide/huge", "expire-clock-over-1ms"),
			metric("flood, 1 event each: offenders blocked of 100", atLeast(97, ""), floods, "Flood/1", "offenders"),
			metric("flood, 5 events each: offenders blocked of 100", atLeast(97, ""), floods, "Flood/5", "offenders"),
			metric("flood, 1 event each: ordinary clients blocked of 1,000", atMost(0, ""), floods, "Flood/1", "clients"),
			metric("flood, 5 events each: ordinary clients blocked of 1,000", atMost(0, ""), floods, "Flood/5", "clients"),
			metric("flood, 5 events each: memory used, of 256 MiB", atMost(256, "MiB"), floods, "Flood/5", "MiB"),
		},
	}
}
