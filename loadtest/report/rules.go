package report

var (
	matches     = benchRun{dir: "rules", pattern: "Match"}
	packagedLog = benchRun{dir: "cmd/edgeguard", pattern: "PackagedLog", times: 3}
)

func rulesGroup() group {
	const four = "Match/"
	return group{
		name: "rules", quick: true,
		title: "One rule: `Meter.Match`",
		note: "A rule of four terms: two hosts, a method, two paths (one a glob), a number and a class of status. A line of a log: deciding a WordPress log of 206,860 parsed lines, by the packages' " +
			"rules and by one that counts every line.",
		lines: []figure{
			metric("all four terms hold", atMost(20, "ns"), matches, four+"hit", "ns/op").in(ruleQuestion),
			metric("all four hold, a path with a query", stated("ns"), matches, four+"query", "ns/op"),
			metric("the method differs", atMost(20, "ns"), matches, four+"method_misses", "ns/op").in(ruleQuestion),
			metric("the path differs", atMost(20, "ns"), matches, four+"path_misses", "ns/op"),
			metric("all four hold, an odd path", stated("ns"), matches, four+"odd_path", "ns/op"),
			metric("allocations", atMost(0, ""), matches, four+"odd_path", "allocs/op"),
			metric("a line of a log by the packages' rules, against one rule", atMost(6, "×"), packagedLog, "PackagedLog", "times"),
			metric("a line whose status is an error's, against the others", atMost(2, "×"), packagedLog, "PackagedLog", "failed-times"),
		},
	}
}
