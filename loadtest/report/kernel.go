package report

// The kernel's table: with 100,000 blocks, a fifth of them IPv6, in a network of its own.
var (
	kernelLists   = benchRun{dir: "enforce/nftables", pattern: "^(BenchmarkReplace|BenchmarkOne)$", times: 1}
	kernelPackets = benchRun{dir: "enforce/nftables", pattern: "^BenchmarkPacket$"}
	kernelClients = benchRun{dir: "loadtest/kernel", pattern: ".", times: 1}
)

func kernelGroup() group {
	packet := func(what, name string) figure {
		return metric(what, stated("ns"), kernelPackets, "Packet/"+name, "cpu-ns/packet")
	}
	return group{
		name:  "kernel",
		title: "Blocks in the kernel",
		note: "100,000 blocks, a fifth of them IPv6, in a network namespace; it needs root. A packet is a datagram of 64 bytes over a veth pair: the processor time of all that happens to it, " +
			"its sender's call included. The answer 429 is one request after the other on one connection.",
		lines: []figure{
			metric("one more block, or one less: 99th percentile", atMost(10, "ms"), kernelLists, "One", "p99-ms"),
			metric("all of them, where none were", atMost(3000, "ms"), kernelLists, "Replace/none_before", "ms"),
			metric("all of them, where 100,000 others were", stated("ms"), kernelLists, "Replace/others_before", "ms"),
			metric("the list of each minute, nothing changed", stated("ms"), kernelLists, "Replace/the_same_before", "ms"),
			metric("the same after somebody else changed rules: all is read", stated("ms"), kernelLists, "Replace/read_all", "ms"),
			packet("a packet, no table", "no_table"),
			packet("a packet that passes, one length of prefix in use", "1_length"),
			packet("2 lengths", "2_lengths"),
			packet("8 lengths", "8_lengths"),
			packet("24 lengths", "24_lengths"),
			packet("a packet that is dropped", "dropped"),
			metric("from the crossing request, counted from nginx's log, to dropped packets: 99th percentile of 250 clients", atMost(150, "ms"), kernelClients, "Crossing", "p99-ms").in(blockQuestion),
			metric("the same: median", stated("ms"), kernelClients, "Crossing", "p50-ms"),
			metric("the answer 429 of nginx that asks edgeguard: processor time of both", stated("µs"), kernelClients, "Refusal", "µs/429"),
			metric("the same over a packet that the kernel drops, its sending included, in the same run", stated("×"), kernelClients, "Refusal", "429/drop"),
		},
	}
}
