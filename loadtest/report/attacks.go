package report

// millionBlocks asks the pages of attacks, and lifts many blocks, where a million stand.
var millionBlocks = benchRun{dir: "node", pattern: "^BenchmarkMillionBlocks$", times: 5}

func attacksGroup() group {
	const name = "MillionBlocks/"
	return group{
		name:  "attacks",
		title: "Attacks, at a million blocks",
		note:  "A node with a million blocks, of which 5,000 are of one attack of 5,000 networks, asked over its socket.",
		lines: []figure{
			metric("Now", atMost(50, "ms"), millionBlocks, name+"now", "ms"),
			metric("the page of the attack", atMost(100, "ms"), millionBlocks, name+"attack", "ms"),
			metric("all 5,000 blocks of the attack are lifted", stated("ms"), millionBlocks, name+"lift/5000", "ms"),
			metric("100,000 blocks of a rule are lifted", stated("ms"), millionBlocks, name+"lift/100000", "ms"),
		},
	}
}
