package main

// What the house allows. Each limit is a ratchet: lower it when the figure falls,
// and give a reason in the commit when it has to rise.
const (
	large    = 1000 // lines from which on a package needs a reason
	ceiling  = 3300 // lines of a package
	function = 60   // lines of a function
	file     = 400  // lines of a file
	methods  = 25   // of the node's type
	fields   = 15   // of the node's type
)

// reasons says, for each package of more than a thousand lines, why it is one.
var reasons = map[string]string{
	"admin":                 "the API and its event stream answer from the same figures",
	"admin/access":          "who asks is decided in one place: tokens, sessions, the proxy and forms look at the same request",
	"admin/console":         "a page is a file; all share the frame, the drawings and the words",
	"aggregator":            "suspects, pushes and answers are one state machine over the same keys, tested whole without a network",
	"aggregator/quarantine": "each record is judged by one budget and one bound under one lock; every way in and out of it is a file of its own",
	"aggregator/redis":      "one connection: what is pushed, received and published depends on the same loss and return of Redis",
	"blocklist":             "readers take no lock, so the index, the budget and the tombstones change together behind one writer",
	"cmd/edgeguard/doctor":  "one examination: all checks look as the same user and note into the same findings",
	"cmd/edgeguard":         "about twenty small commands that share their flags, tables and words; nothing imports it",
	"cmd/edgeguard/blocks":  "each command is a file; all share how a node is reached and what an owner is",
	"config":                "one file format: each section's keys, defaults, checks and its way back to YAML",
	"node/overlay":          "one merge of config, fleet and node, and every change that goes through it, its files and its alarms",
	"detector":              "the decision and everything that has to see its counts: wide networks, fleet totals, explanations",
	"enforce":               "seven list formats and HAProxy's socket behind one Runner; each is a file of its own",
	"haproxy/tally":         "one account of each key: what is added, handed over, dropped and saved are the same numbers",
	"logline/scan":          "the values of all formats: each is a file of its own, and times share one calendar",
	"logline/pattern":       "nginx's and Apache's format languages compile to one layout, and one parser runs it",
	"node":                  "wiring: each service is a file and holds only what it uses; what needs no node is a package beside it",
	"replay":                "recorded events on their own clock: merging, waiting and the summary of one pass",
	"enforce/nftables":      "one table: what is in it, how the kernel is asked for it and what differs is read side by side",
	"rules":                 "matching, keys and `when:` expressions compile to one form that a single pass evaluates",
	"sensor/accesslog":      "rotation, truncation and restarts are cases of one position in one log",
	"sensor/envoy":          "one server for two methods: the bounds of a call, its peer and its verdict hold of both",
	"sensor/httpauth":       "one server for four proxies' dialects; they differ in the reading of a head alone",
	"sensor/packet":         "two capture formats and one header parser, which is tested against gopacket's",
	"shard":                 "one memory layout: pages, entries and windows know each other's offsets",
	"tuning":                "one tally: every answer needs its distribution together with its highest keys",
	"snapshot":              "one file format: each record's writer lies beside its reader",
}
