package report

// How soon a block is in force: on a node that follows a log, and on all of a fleet.
var (
	nginxCrossing = benchRun{dir: "cmd/edgeguard", pattern: "NginxLog"}
	lineCrossing  = benchRun{dir: "node", pattern: "LogToBlock"}
	fleetCrossing = benchRun{dir: "test/fleet", pattern: "^(BenchmarkCrossing|BenchmarkEmergency)$", times: 1}
	fleetTraffic  = benchRun{dir: "test/fleet", pattern: "^(BenchmarkPushes|BenchmarkQuiet|BenchmarkWire)$", times: 1}
	fleetList     = benchRun{dir: "test/fleet", pattern: "^BenchmarkLongList$", times: 1}
)

func crossingGroup() group {
	return group{
		name:  "crossing",
		title: "From the crossing request to the block",
		note:  "Real programs on loopback. In the fleet five nodes see 20,000 other events a second and push every 500 ms; the forced /16 is an operator's, on one of fifty nodes.",
		lines: []figure{
			metric("from a written line to its block, 99th percentile", stated("µs"), lineCrossing, "LogToBlock", "p99-µs"),
			metric("through nginx's log with `flush=50ms`, 99th percentile", atMost(150, "ms"), nginxCrossing, "NginxLogToBlock", "p99-ms").in(blockQuestion),
			metric("the same, median", stated("ms"), nginxCrossing, "NginxLogToBlock", "p50-ms"),
			metric("on all of five nodes, 99th percentile", atMost(700, "ms"), fleetCrossing, "Crossing/quiet=true", "p99-ms").in(blockQuestion),
			metric("the same, median", stated("ms"), fleetCrossing, "Crossing/quiet=true", "p50-ms"),
			metric("the same without `quiet`, 99th percentile", atMost(700, "ms"), fleetCrossing, "Crossing/quiet=false", "p99-ms"),
			metric("a forced /16 on the last of fifty nodes, the slowest of 20", atMost(1000, "ms"), fleetCrossing, "Emergency", "most-ms").in(blockQuestion),
			metric("100,000 blocks of an operator, until five nodes have them", stated("s"), fleetList, "LongList", "s-to-all"),
			metric("the same, until a sixth that joins has read them", stated("s"), fleetList, "LongList", "s-to-join"),
		},
	}
}

// What one Redis pays.
var (
	redisPushes     = benchRun{dir: "aggregator/redis", pattern: "^(BenchmarkPush|BenchmarkPushFull|BenchmarkReconcile|BenchmarkBeat|BenchmarkPublish)$", times: 2}
	redisSplits     = benchRun{dir: "aggregator/redis", pattern: "^BenchmarkSplit$", times: 8}
	redisHeartbeats = benchRun{dir: "aggregator/redis", pattern: "^BenchmarkHeartbeats$/^nodes=1000$/steady", times: 1}
	redisStrangers  = benchRun{dir: "aggregator/redis", pattern: "^BenchmarkStrangers$", times: 1}
)

func redisGroup() group {
	return group{
		name:  "redis",
		title: "What one Redis pays",
		note:  "Redis' own processor time for each command. A log is 33 requests of an address in 5 s, each by a sliding-log script. [scale.md](scale.md) computes with these.",
		lines: []figure{
			metric("a pushed key, 1 node", atMost(8, "µs"), redisPushes, "Push/nodes=1", "redis-µs/key").in(redisQuestion),
			metric("4 nodes", atMost(8, "µs"), redisPushes, "Push/nodes=4", "redis-µs/key"),
			metric("16 nodes", atMost(8, "µs"), redisPushes, "Push/nodes=16", "redis-µs/key").in(redisQuestion),
			metric("16 nodes, as a multiple of plain HMGET, HSET and EXPIRE", stated("×"), redisPushes, "Push/nodes=16", "ratio"),
			metric("keys a second into one Redis, 16 nodes", atLeast(110_000, "/s"), redisPushes, "Push/nodes=16", "keys/s").in(redisQuestion),
			metric("memory of a key that one node counts", atMost(640, "B"), redisPushes, "Push/nodes=1", "bytes/key").in(redisQuestion),
			metric("a full push of 60 slots to a new key", stated("µs"), redisPushes, "PushFull/fresh", "redis-µs/key"),
			metric("comparing a key's sum after an outage", stated("µs"), redisPushes, "Reconcile/nodes=16", "redis-µs/key"),
			metric("a heartbeat at 1,000 nodes", atMost(60, "µs"), redisPushes, "Beat/nodes=1000", "beat-µs").in(redisQuestion),
			metric("the same while a node restarts each second", atMost(150, "µs"), redisPushes, "Beat/nodes=1000", "rolling-µs"),
			metric("a heartbeat as a node sends it, whole reads included", atMost(60, "µs"), redisHeartbeats, "Heartbeats/nodes=1000/steady", "redis-µs/beat"),
			metric("the same, bytes to the node", atMost(1000, "B"), redisHeartbeats, "Heartbeats/nodes=1000/steady", "B/beat"),
			metric("a record that is published, signed", stated("µs"), redisPushes, "Publish", "signed-µs/record"),
			metric("its memory", stated("B"), redisPushes, "Publish", "signed-bytes/record"),
			metric("the split of a key that 4 nodes counted", stated("µs"), redisSplits, "Split/nodes=4", "redis-µs/key"),
			metric("that 50 counted", stated("µs"), redisSplits, "Split/nodes=50", "redis-µs/key"),
			metric("a request, against one sliding-log script a request", atMost(0.1, "×"), redisRequest, "Request", "ratio").in(redisQuestion),
			metric("a round beside 100,000 clients raised under an invented name", stated("s"), redisStrangers, "Strangers", "round-s"),
			metric("the same: blocked", atMost(0, ""), redisStrangers, "Strangers", "over"),
			metric("keys a second of 4 nodes, 1,000 clients at 5 requests/s each", atMost(1800, "/s"), fleetTraffic, "Pushes", "keys/s"),
			metric("network to Redis, of a pushed key", atMost(100, "B"), fleetTraffic, "Wire", "in-B/key").in(redisQuestion),
			metric("network from Redis", atMost(50, "B"), fleetTraffic, "Wire", "out-B/key").in(redisQuestion),
			metric("clients reported, of all of a WordPress log over 10 nodes", atMost(5, "%"), fleetTraffic, "Quiet", "%-told").in(redisQuestion),
			metric("the same: offenders missed", atMost(0, ""), fleetTraffic, "Quiet", "missed"),
		},
	}
}

var redisRequest = benchRun{dir: "aggregator/redis", pattern: "^BenchmarkRequest$"}
