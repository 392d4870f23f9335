package report

import "strings"

// An interface that is listened to, in a network of its own.
var (
	packetsLive   = benchRun{dir: "sensor/packet", pattern: "^BenchmarkLive$/syn", times: 300_000}
	packetsIdle   = benchRun{dir: "sensor/packet", pattern: "^BenchmarkLive$/idle", times: 5}
	packetsReplay = benchRun{dir: "sensor/packet", pattern: "^BenchmarkReplay$"}
)

func packetsGroup() group {
	var lines []figure
	for _, kinds := range []string{"syn", "syn+handshake"} {
		what := strings.ReplaceAll(kinds, "+", " and ")
		lines = append(lines,
			metric("a packet of an interface, "+what, stated("ns"), packetsLive, "Live/"+kinds, "cpu-ns/packet"),
			metric("of these dropped, "+what, stated("packets"), packetsLive, "Live/"+kinds, "dropped"),
			metric("the same of a file, "+what, stated("ns"), packetsReplay, "Replay/"+kinds, "cpu-ns/packet"))
	}
	return group{
		name:  "packets",
		title: "Packets of an interface",
		note: "SYNs of ever new sources over a veth pair, at most 50,000 a second; it needs root. The processor time of who reads them, most of it waking up and fetching what another core wrote " +
			"([why](adr/0064-packets-of-an-interface.md)).",
		lines: append(lines, metric("a second of an interface on which nothing comes: 0.1 % of a core", atMost(1000, "µs"), packetsIdle, "Live/idle", "cpu-us/s")),
	}
}
