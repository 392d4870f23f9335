package main

// alert is a state that somebody should look at.
type alert struct {
	name     string
	expr     string
	hold     string // how long expr must hold; "" for not at all
	severity string
	summary  string // with the value, and what follows from it
}

// The severities: somebody is woken up; somebody looks at it in working hours;
// it is only shown.
const (
	critical = "critical"
	warning  = "warning"
	info     = "info"
)

// alerts are in the order of docs/operations.md. A node's own alarms, of which
// it knows the text and the fix, are one alert together: EdgeguardDegraded. What
// has an alert of its own is what a node cannot know of itself, what needs more
// than one node or some time to see, and what is worth waking somebody up.
var alerts = []alert{
	{"EdgeguardDown", `up{job="edgeguard"} == 0`, "2m", critical,
		`{{ $labels.instance }} does not answer: it may count and refuse nothing`},
	{"EdgeguardMissing", `absent(up{job="edgeguard"})`, "10m", critical,
		`Prometheus scrapes no node as job edgeguard: no alert of edgeguard can work`},
	{"EdgeguardNotReady", `edgeguard_ready == 0`, "5m", critical,
		`{{ $labels.instance }} has not restored its state, or does not listen everywhere`},
	{"EdgeguardDegraded", `edgeguard_conditions > 0`, "15m", warning,
		`{{ $labels.instance }} has {{ $value }} active alarms: edgeguard top shows them, with the fix`},
	{"EdgeguardReloadFailed", `edgeguard_config_last_reload_successful == 0`, "1m", warning,
		`{{ $labels.instance }} still uses the previous config: the new one does not load`},
	{"EdgeguardStateNotSaved", `time() - edgeguard_snapshot_last_success_timestamp_seconds > 900`, "5m", warning,
		`{{ $labels.instance }} saved its state {{ $value | humanizeDuration }} ago: a restart would forget what came since`},
	{"EdgeguardVersionsDiffer", `count by (job) (count by (job, version) (edgeguard_build_info)) > 1`, "6h", info,
		`{{ $value }} versions of edgeguard have been running for six hours`},

	{"EdgeguardBlockSurge", `sum by (job) (increase(edgeguard_blocks_total{origin="local"}[5m])) > 200 unless sum by (job) (increase(edgeguard_blocks_total{origin="local"}[5m])) <= 10 * sum by (job) (increase(edgeguard_blocks_total{origin="local"}[5m] offset 1h))`, "", warning,
		`{{ $value | humanize }} blocks in 5 minutes, over ten times as many as an hour ago: an attack, or a rule that is too strict`},
	{"EdgeguardRefusesTooMuch", `job:edgeguard_denied:ratio_rate5m > 0.5`, "10m", warning,
		`{{ $value | humanizePercentage }} of all requests are refused: an attack, or a rule that is too strict`},
	{"EdgeguardSpoofedFlood", `edgeguard_spoofed_flood == 1`, "", warning,
		`{{ $labels.instance }} sees a flood of fresh sources that complete no handshake: no address is blocked for it`},
	{"EdgeguardSiteFails", `edgeguard_site_fails > 0`, "", warning,
		`{{ $labels.instance }} sees {{ $value }} parts of the site fail: rules that go by the status count no failures there`},
	{"EdgeguardBlocksWait", `max by (job) (edgeguard_blocks_held) > 0`, "10m", warning,
		`{{ $value }} blocks of other nodes await confirmation and are not in force everywhere`},
	{"EdgeguardBlocksFull", `rate(edgeguard_blocks_evicted_total[5m]) > 0`, "5m", warning,
		`The block list of {{ $labels.instance }} is full: {{ $value | humanize }} blocks a second are evicted for others`},

	{"EdgeguardNothingCounted", `sum without (action) (rate(edgeguard_events_total[15m])) == 0 and sum without (action) (rate(edgeguard_events_total[15m] offset 1h)) > 0.1`, "5m", critical,
		`{{ $labels.instance }} has counted no request for 15 minutes, and did an hour ago`},
	{"EdgeguardUncounted", `sum without (reason) (rate(edgeguard_uncounted_total{reason!~"line_.*|lines_lost"}[10m])) / (sum without (reason) (rate(edgeguard_uncounted_total{reason!~"line_.*|lines_lost"}[10m])) + rate(edgeguard_requests_total[10m])) > 0.01`, "10m", warning,
		`{{ $value | humanizePercentage }} of the requests of {{ $labels.source }} on {{ $labels.instance }} are answered and not counted`},
	{"EdgeguardMemoryFull", `rate(edgeguard_refused_events_total[5m]) + rate(edgeguard_undercounted_counts_total[5m]) > 0`, "5m", critical,
		`{{ $labels.instance }} counts {{ $value | humanize }} events a second not or too low, because its memory is full`},
	{"EdgeguardSlowDecisions", `instance:edgeguard_decision_duration_seconds:p99_5m > 0.001`, "10m", warning,
		`One verdict in a hundred takes longer than {{ $value | humanizeDuration }} on {{ $labels.instance }}`},

	{"EdgeguardLogBehind", `edgeguard_log_behind_bytes > 64e6`, "2m", warning,
		`{{ $labels.instance }} has {{ $value | humanize1024 }}B of {{ $labels.source }} still to read: blocks come late`},
	{"EdgeguardLogLoses", `sum without (result) (increase(edgeguard_log_lines_total{result="lost"}[5m])) > 0 or increase(edgeguard_log_haproxy_dropped_total[5m]) > 0 or increase(edgeguard_log_lost_bytes_total[5m]) > 0`, "", warning,
		`Lines of {{ $labels.source }} were lost on {{ $labels.instance }} before they were read, or its HAProxy could not send lines: who is in them is not counted`},
	{"EdgeguardLogUnreadable", `sum without (result) (rate(edgeguard_log_lines_total{result="skipped"}[10m])) / sum without (result) (rate(edgeguard_log_lines_total[10m])) > 0.05`, "10m", warning,
		`{{ $value | humanizePercentage }} of the lines of {{ $labels.source }} on {{ $labels.instance }} are not of the format in the config`},

	{"EdgeguardEnforcerFails", `edgeguard_enforcer_failing >= 3`, "1m", critical,
		`{{ $labels.enforcer }} on {{ $labels.instance }} failed {{ $value }} times in a row: its list is not in force as it should be`},
	{"EdgeguardEnforcerBehind", `edgeguard_enforcer_entries{state="intended"} != ignoring (state) edgeguard_enforcer_entries{state="installed"} and ignoring (state) time() - edgeguard_enforcer_last_success_timestamp_seconds > 120`, "5m", critical,
		`{{ $labels.enforcer }} on {{ $labels.instance }} should have {{ $value }} entries, and has not changed its list for minutes`},

	{"EdgeguardFleetCutOff", `edgeguard_redis_up == 0`, "2m", warning,
		`{{ $labels.instance }} decides alone: an offender who spreads over the nodes is not found there`},
	{"EdgeguardFleetAllCutOff", `sum by (job) (edgeguard_redis_up) == 0`, "1m", critical,
		`All nodes decide alone: none has joined its fleet in Redis`},
	{"EdgeguardPushLag", `edgeguard_sync_lag_seconds > 10 and edgeguard_redis_up == 1`, "2m", warning,
		`{{ $labels.instance }} reports its counts to the fleet {{ $value | humanizeDuration }} late`},
	{"EdgeguardSlowFanOut", `edgeguard_fanout_latency_seconds{of="longest"} > 2`, "5m", warning,
		`Blocks of other nodes reach {{ $labels.instance }} after {{ $value | humanizeDuration }}`},
	{"EdgeguardClockSkew", `abs(edgeguard_fleet_clock_ahead_seconds) - edgeguard_fleet_clock_within_seconds > 0.1`, "5m", warning,
		`The clock of {{ $labels.instance }} differs from that of Redis by at least {{ $value | humanizeDuration }}`},
}
