package report

const peersDir = "loadtest/peers"

// adds are the benchmarks of shard.Add and its peers, in their own module.
var adds = benchRun{dir: peersDir, pattern: "."}

func addGroup() group {
	const cold, dense = "Add/cold/", "Add/dense/"
	return group{
		name:  "add",
		title: "One count: `shard.Add`",
		note: "A million IPv4 keys, one goroutine. *In the heap* is without huge pages, as its peers are. Cold: every key was seen in one slot; dense: every key has its ring. " +
			"A dependent key is derived from the last answer, as a lone request must wait. *Obvious* is `map[netip.Addr]*ring.Ring` in 256 shards with a mutex each. The floor " +
			"reads and writes a random one out of a million cache lines; the locked floor takes one of 256 locks for each.",
		lines: []figure{
			faster("cold, independent keys, against the obvious", atLeast(4.5, "×"), adds, cold+"obvious/independent", cold+"edgeguard/independent").in(fastQuestion),
			faster("cold, dependent keys, against the obvious", atLeast(3, "×"), adds, cold+"obvious/dependent", cold+"edgeguard/dependent").in(fastQuestion),
			faster("cold, batches of 64, against the obvious", atLeast(9, "×"), adds, cold+"obvious/independent", cold+"edgeguard/batch64").in(fastQuestion),
			faster("cold, independent keys, in the heap", stated("×"), adds, cold+"obvious/independent", cold+"edgeguard-heap/independent"),
			faster("cold, batches of 64, in the heap", stated("×"), adds, cold+"obvious/independent", cold+"edgeguard-heap/batch64"),
			faster("cold, Zipf, against the obvious", stated("×"), adds, cold+"obvious/zipf", cold+"edgeguard/zipf"),
			faster("dense, independent, against the obvious", atLeast(4, "×"), adds, dense+"obvious/independent", dense+"edgeguard/independent"),
			faster("dense, dependent, against the obvious", atLeast(1.5, "×"), adds, dense+"obvious/dependent", dense+"edgeguard/dependent"),
			faster("dense, batches of 64, against the obvious", atLeast(6, "×"), adds, dense+"obvious/independent", dense+"edgeguard/batch64"),
			faster("cold, independent, against x/time/rate", stated("×"), adds, cold+"xtime/independent", cold+"edgeguard/independent").in(fastQuestion),
			faster("cold, dependent, against x/time/rate", stated("×"), adds, cold+"xtime/dependent", cold+"edgeguard/dependent"),
			faster("cold, independent, against go-limiter", stated("×"), adds, cold+"golimiter/independent", cold+"edgeguard/independent").in(fastQuestion),
			faster("cold, dependent, against go-limiter", stated("×"), adds, cold+"golimiter/dependent", cold+"edgeguard/dependent"),
			multiple("cold, independent keys, as a multiple of the locked floor", stated("×"), adds, cold+"edgeguard/independent", "Floor/locked"),
			multiple("cold, batches of 64, as a multiple of the independent floor", atMost(3.6, "×"), adds, cold+"edgeguard/batch64", "Floor/independent"),
			multiple("cold, dependent keys, as a multiple of the dependent floor", stated("×"), adds, cold+"edgeguard/dependent", "Floor/dependent"),
			metric("allocations", atMost(0, ""), adds, cold+"edgeguard/independent", "allocs/op"),
		},
	}
}
