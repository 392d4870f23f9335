package report

// taken is decisions of a CrowdSec, and queued what a decision of ours pays for being reported.
var (
	taken  = benchRun{dir: "node/neighbours", pattern: "^BenchmarkTaken$"}
	queued = benchRun{dir: "crowdsec", pattern: "^BenchmarkOffer$"}
)

func decisionsGroup() group {
	return group{
		name:  "decisions",
		title: "Decisions of CrowdSec",
		note:  "100,000 decisions over HTTP on loopback, from a server that has its answer ready; CrowdSec 1.4.6 takes some 3.5 s to make it.",
		lines: []figure{
			metric("100,000 decisions, the first time", atMost(3000, "ms"), taken, "Taken", "first-ms"),
			metric("the same list again, as each hour", stated("ms"), taken, "Taken", "again-ms"),
			metric("memory for them", stated("MiB"), taken, "Taken", "held-MiB"),
			metric("a block that is queued to be reported", atMost(1000, "ns"), queued, "Offer", "ns/op"),
		},
	}
}

// Who else enforces our blocks: CrowdSec's bouncers, and lists behind an API.
var (
	lapiStream  = benchRun{dir: "crowdsec/lapi", pattern: "100k$"}
	cloudPushes = benchRun{dir: "enforce/cloud", pattern: "Push$"}
)

func bouncersGroup() group {
	return group{
		name:  "bouncers",
		title: "CrowdSec's bouncers, and lists behind APIs",
		note:  "100,000 decisions, over loopback. A push to a cloud is 10,000 new prefixes in place of others, to recorded servers: what AWS and Cloudflare take is not in it.",
		lines: []figure{
			metric("all decisions, 12.9 MB", atMost(1000, "ms"), lapiStream, "Stream100k/identity", "ns/op").times(1e-6),
			metric("the same packed, 0.6 MB", atMost(1000, "ms"), lapiStream, "Stream100k/gzip", "ns/op").times(1e-6),
			metric("the journal made of all blocks", stated("ms"), lapiStream, "Replace100k", "ns/op").times(1e-6),
			metric("one change among them", stated("ns"), lapiStream, "SetAmong100k", "ns/op"),
			metric("an IP set of AWS WAF", stated("ms"), cloudPushes, "Push", "ns/op").times(1e-6),
			metric("a list of Cloudflare's", stated("ms"), cloudPushes, "CloudflarePush", "ns/op").times(1e-6),
		},
	}
}

const envoyDir = "test/envoy/clients"

var envoyAnswers = benchRun{dir: envoyDir, pattern: "Answer", times: 20000}

func envoyGroup() group {
	answer := func(what string, g goal, name string) figure {
		return metric(what, g, envoyAnswers, "Answer/"+name, "server-µs/answer")
	}
	return group{
		name:  "envoy",
		title: "Envoy",
		note:  "The processor time of a whole node for an answer over one connection, with 16 callers of 1,000 addresses. What edgeguard itself does is about a sixth; the rest is net/http's.",
		lines: []figure{
			answer("ext_authz, over TCP", atMost(40, "µs"), "ext_authz/tcp"),
			answer("over a unix socket", atMost(40, "µs"), "ext_authz/unix"),
			answer("the rate limit service, over TCP", atMost(40, "µs"), "rate_limit/tcp"),
			answer("over a unix socket", atMost(40, "µs"), "rate_limit/unix"),
			answer("the floor: a handler of net/http that decides nothing, over a unix socket", stated("µs"), "ext_authz/nethttp"),
		},
	}
}
