package main

// panel is one figure of the board. Its queries name metrics alone: the board adds
// the labels that its variables choose.
type panel struct {
	title string
	about string // what it shows and what to do about it
	kind  string // of Grafana: stat, timeseries, table or state-timeline
	unit  string // of Grafana
	asks  []query
}

// query is one question to Prometheus, and how its series are named.
type query struct{ expr, legend string }

// row is a headed part of the board.
type row struct {
	title  string
	panels []panel
}

// The kinds of panels, and units of Grafana.
const (
	stat       = "stat"
	timeseries = "timeseries"
	table      = "table"
	states     = "state-timeline"

	number    = "short"
	share     = "percentunit"
	seconds   = "s"
	bytes     = "bytes"
	rate      = "reqps"
	onOrOff   = "bool_yes_no"
	perSecond = "cps"
	fromNow   = "dateTimeFromNow"
)

// rows are the board from top to bottom: what is happening, then why, then
// whether edgeguard itself is well. A block of the fleet is on every node's list,
// so figures of the list are the greatest of the nodes', never their sum.
var rows = []row{
	{"Now", []panel{
		{"Blocked", "Active blocks. Nodes of a fleet have one list, so this is the longest one.", stat, number, []query{
			{`max(sum by (instance) (edgeguard_blocked_ips))`, "blocked"}}},
		{"Refused", "Share of all requests that are refused.", stat, share, []query{
			{`sum(rate(edgeguard_events_total{action="deny"}[$__rate_interval])) / sum(rate(edgeguard_events_total[$__rate_interval]))`, "refused"}}},
		{"Requests", "Events that edgeguard decides, a second.", stat, rate, []query{
			{`sum(rate(edgeguard_events_total[$__rate_interval]))`, "requests"}}},
		{"Nodes not ready", "Nodes that have not restored their state, or do not listen.", stat, number, []query{
			{`count(edgeguard_ready == 0) or vector(0)`, "not ready"}}},
		{"Nodes in monitor mode", "Nodes that enforce nothing and only report.", stat, number, []query{
			{`sum(edgeguard_monitor_mode)`, "monitor mode"}}},
		{"Active alarms", "Alarms of all nodes. `edgeguard top` shows them, with the fix.", stat, number, []query{
			{`sum(edgeguard_conditions)`, "alarms"}}},
	}},
	{"Traffic", []panel{
		{"Requests by outcome", "What came of all events: passed, refused, or would have been refused by a rule that only reports.", timeseries, rate, []query{
			{`sum by (action) (rate(edgeguard_events_total[$__rate_interval]))`, "{{action}}"}}},
		{"Requests by source", "Events by the listener or log that they come from.", timeseries, rate, []query{
			{`sum by (source) (rate(edgeguard_requests_total[$__rate_interval]))`, "{{source}}"}}},
		{"Refused by rule", "Verdicts that are not a pass, by the rule that decided.", timeseries, rate, []query{
			{`sum by (rule, action) (rate(edgeguard_decisions_total{action!="pass",rule=~"$rule"}[$__rate_interval]))`, "{{rule}}: {{action}}"}}},
		{"Not counted", "Requests that were answered and are not counted, by reason. Some is usual; a rise is an attacker who evades the rules, or a wrong setting.", timeseries, rate, []query{
			{`sum by (source, reason) (rate(edgeguard_uncounted_total[$__rate_interval]))`, "{{source}}: {{reason}}"}}},
		{"The site fails", "Failures a second that rules did not count, because most visitors who had succeeded before only failed; and how many parts of the site fail now.", timeseries, rate, []query{
			{`sum by (rule) (rate(edgeguard_rule_held_events_total{rule=~"$rule"}[$__rate_interval]))`, "{{rule}}"},
			{`sum(edgeguard_site_fails)`, "parts that fail"}}},
		{"Claims to be a crawler", "Events whose agent claims to be a crawler, by what the claim was found to be. Many unknown ones: DNS does not answer, or a range file cannot be read.", timeseries, rate, []query{
			{`sum by (crawler) (rate(edgeguard_crawler_claims_total[$__rate_interval]))`, "{{crawler}}"},
			{`sum(rate(edgeguard_crawler_dns_total{result="failed"}[$__rate_interval]))`, "DNS failed"}}},
		{"Spared, late, early", "Events of allowed or protected addresses; events that are too old to count; events from the future; new sources that can be forged and completed no handshake.", timeseries, rate, []query{
			{`sum(rate(edgeguard_spared_total[$__rate_interval]))`, "spared"},
			{`sum(rate(edgeguard_late_events_total[$__rate_interval]))`, "late"},
			{`sum(rate(edgeguard_early_events_total[$__rate_interval]))`, "early"},
			{`sum(rate(edgeguard_unknown_refusals_total[$__rate_interval]))`, "refusals by an unknown node"},
			{`sum(rate(edgeguard_fresh_sources_total[$__rate_interval]))`, "fresh forgeable sources"}}},
	}},
	{"Blocks", []panel{
		{"Blocks made", "Blocks by rule. Each is counted once, on the node that made it.", timeseries, number, []query{
			{`sum by (rule) (increase(edgeguard_blocks_total{origin!="fleet",rule=~"$rule"}[$__rate_interval]))`, "{{rule}}"}}},
		{"Active blocks", "Blocks in force, by rule and family.", timeseries, number, []query{
			{`max by (rule, family) (sum by (instance, rule, family) (edgeguard_blocked_ips{rule=~"$rule"}))`, "{{rule}} {{family}}"}}},
		{"Unblocked before the end", "Blocks that an operator lifted in an hour. Many mean that a rule blocks customers.", timeseries, number, []query{
			{`sum by (reason) (increase(edgeguard_unblocks_total[1h])) or vector(0)`, "{{reason}}"}}},
		{"Held", "Blocks of other nodes that await confirmation: `edgeguard blocks held`.", stat, number, []query{
			{`max(edgeguard_blocks_held) or vector(0)`, "held"}}},
		{"Allowances", "Prefixes that operators exempted at run time.", stat, number, []query{
			{`max(edgeguard_allowances)`, "allowances"}}},
		{"Room on the list", "Used share of `max_blocks`.", timeseries, share, []query{
			{`edgeguard_blocks_standing / edgeguard_blocks_limit`, "{{instance}}"}}},
		{"On the word of others", "Part of the requests that blocks and allowances refuse or spare which the node did not make: of other nodes, owners and lists. Above `confirm_share` it is an alarm.", timeseries, share, []query{
			{`edgeguard_elsewhere_request_ratio`, "{{instance}} {{source}}: {{kind}}"}}},
		{"Imported", "Entries of others' lists that are in force on this node, by list.", timeseries, number, []query{
			{`edgeguard_imported_blocks`, "{{instance}} {{source}}"}}},
		{"Imported, but refused", "Entries that are not in force, by why. With `no_room`, `max_imported` is reached.", timeseries, number, []query{
			{`sum by (source, reason) (edgeguard_imported_refused) > 0`, "{{source}}: {{reason}}"}}},
		{"Room for imported entries", "Used share of `max_imported`.", timeseries, share, []query{
			{`sum by (instance) (edgeguard_imported_blocks) / on (instance) edgeguard_imported_limit`, "{{instance}}"}}},
		{"Evicted blocks", "Blocks that were evicted for others, because the list is full.", timeseries, perSecond, []query{
			{`rate(edgeguard_blocks_evicted_total[$__rate_interval])`, "{{instance}}"}}},
	}},
	{"Rules", []panel{
		{"Crossings", "Times that a key exceeded its limit, by what came of it.", timeseries, number, []query{
			{`sum by (rule, action) (increase(edgeguard_rule_crossings_total{rule=~"$rule"}[$__rate_interval]))`, "{{rule}}: {{action}}"}}},
		{"IPv6 networks over the limit", "Times that a /56 or /48 exceeded what a rule allows it.", timeseries, number, []query{
			{`sum by (rule, prefix, action) (increase(edgeguard_wide_crossings_total{rule=~"$rule"}[$__rate_interval]))`, "{{rule}} {{prefix}}: {{action}}"}}},
		{"Limits", "The count that a key may reach, by rule.", table, number, []query{
			{`max by (rule) (edgeguard_rule_limit{rule=~"$rule"})`, "{{rule}}"}}},
		{"Candidates: crossings in an hour", "How often keys would have exceeded other thresholds, beside the rule itself.", timeseries, number, []query{
			{`sum by (rule, threshold) (increase(edgeguard_candidate_crossings_total{rule=~"$rule"}[1h]))`, "{{rule}}: {{threshold}}"},
			{`sum by (rule) (increase(edgeguard_rule_crossings_total{rule=~"$rule"}[1h]))`, "{{rule}}: in force"}}},
		{"Candidates: requests over", "Requests that other thresholds would have refused.", timeseries, rate, []query{
			{`sum by (rule, threshold) (rate(edgeguard_candidate_over_total{rule=~"$rule"}[$__rate_interval]))`, "{{rule}}: {{threshold}}"}}},
	}},
	{"Decision", []panel{
		{"Time to a verdict", "How long a forward-auth request waits inside the node.", timeseries, seconds, []query{
			{`histogram_quantile(0.5, sum by (le) (rate(edgeguard_decision_duration_seconds_bucket[$__rate_interval])))`, "half"},
			{`histogram_quantile(0.99, sum by (le) (rate(edgeguard_decision_duration_seconds_bucket[$__rate_interval])))`, "99 of 100"}}},
		{"Processor", "Cores in use.", timeseries, number, []query{
			{`sum by (instance) (rate(process_cpu_seconds_total[$__rate_interval]))`, "{{instance}}"}}},
		{"Process memory", "Resident memory of the process. It may be twice `memory` plus 32 MiB.", timeseries, bytes, []query{
			{`process_resident_memory_bytes`, "{{instance}}"}}},
	}},
	{"Memory of the counts", []panel{
		{"Used", "Share of `memory` in use. It may be full: then keys with few events are evicted.", timeseries, share, []query{
			{`edgeguard_memory_used_bytes / edgeguard_memory_limit_bytes`, "{{instance}}"}}},
		{"Keys", "Keys that are counted, and those with a window of 60 slots.", timeseries, number, []query{
			{`edgeguard_tracked_ips`, "{{instance}}"},
			{`edgeguard_tracked_rings`, "{{instance}}: with slots"}}},
		{"Evicted", "Keys that were removed: idle ones, and those that made room.", timeseries, perSecond, []query{
			{`sum by (reason) (rate(edgeguard_evictions_total[$__rate_interval]))`, "{{reason}}"}}},
		{"Lost counts", "Events that were not counted, and counts that are too low, because memory was full. More than 0: raise `memory`.", timeseries, perSecond, []query{
			{`sum(rate(edgeguard_refused_events_total[$__rate_interval]))`, "not counted"},
			{`sum(rate(edgeguard_undercounted_counts_total[$__rate_interval]))`, "too low"}}},
	}},
	{"Fleet", []panel{
		{"Joined", "Whether the node has joined its fleet and all its counts are accepted. Only with a fleet, as all of this row.", states, onOrOff, []query{
			{`edgeguard_redis_up`, "{{instance}}"}}},
		{"Nodes", "Nodes that each node has seen lately. They should agree.", timeseries, number, []query{
			{`edgeguard_fleet_nodes`, "{{instance}}"}}},
		{"Age of the counts", "Age of the newest round of counts that Redis accepted.", timeseries, seconds, []query{
			{`edgeguard_sync_lag_seconds`, "{{instance}}"}}},
		{"Delay of blocks", "How long a block of another node was on its way: the newest, and the longest of the last minutes.", timeseries, seconds, []query{
			{`edgeguard_fanout_latency_seconds`, "{{instance}}: {{of}}"}}},
		{"Clock", "How far the node's clock is ahead of that of Redis.", timeseries, seconds, []query{
			{`edgeguard_fleet_clock_ahead_seconds`, "{{instance}}"}}},
		{"Failed exchanges with Redis", "By operation. A few during a fail-over are usual.", timeseries, perSecond, []query{
			{`sum by (op) (rate(edgeguard_redis_errors_total[$__rate_interval]))`, "{{op}}"}}},
		{"Keys reported", "Keys that each node reports to the fleet now, and those that a node asked all others about.", timeseries, number, []query{
			{`edgeguard_fleet_suspects`, "{{instance}}"},
			{`edgeguard_fleet_watched`, "{{instance}}: watched"}}},
		{"Records", "Blocks and unblocks that went to the fleet and came from it, and those that were rejected.", timeseries, perSecond, []query{
			{`sum by (way) (rate(edgeguard_fleet_records_total[$__rate_interval]))`, "{{way}}"}}},
		{"Still to publish", "Changes of a node's list that wait for their turn.", timeseries, number, []query{
			{`edgeguard_fleet_unpublished_records`, "{{instance}}"},
			{`edgeguard_fleet_staying_blocks`, "{{instance}}: kept, as the node may be broken"}}},
	}},
	{"Enforcers", []panel{
		{"Entries", "Entries that each list should have, has, and leaves out because the client came through a proxy. Only with an enforcer, as all of this row.", timeseries, number, []query{
			{`sum by (instance, enforcer, state) (edgeguard_enforcer_entries)`, "{{instance}} {{enforcer}}: {{state}}"}}},
		{"Failures in a row", "Failures since the last success.", timeseries, number, []query{
			{`edgeguard_enforcer_failing`, "{{instance}} {{enforcer}}"}}},
		{"Changes", "Changes of the lists, by result.", timeseries, perSecond, []query{
			{`sum by (enforcer, result) (rate(edgeguard_enforcer_operations_total[$__rate_interval]))`, "{{enforcer}}: {{result}}"}}},
	}},
	{"Notifications", []panel{
		{"Posts to receivers", "Posts by receiver and by what came of them. The alarm notify says why one fails.", timeseries, perSecond, []query{
			{`sum by (receiver, result) (rate(edgeguard_notifications_total[$__rate_interval]))`, "{{receiver}}: {{result}}"}}},
		{"Not told", "Blocks and alarms that a receiver did not accept.", timeseries, number, []query{
			{`sum by (receiver) (increase(edgeguard_notifications_dropped_total[$__rate_interval]))`, "{{receiver}}"}}},
	}},
	{"Logs", []panel{
		{"Lines", "Lines by what became of them. `skipped` ones are not of the format in the config. Only with a log, as all of this row.", timeseries, perSecond, []query{
			{`sum by (source, result) (rate(edgeguard_log_lines_total[$__rate_interval]))`, "{{source}}: {{result}}"}}},
		{"Still to read", "Bytes of each followed file that are not read yet.", timeseries, bytes, []query{
			{`edgeguard_log_behind_bytes`, "{{instance}} {{source}}"}}},
		{"Dropped by HAProxy", "Lines that a HAProxy could not send, by its stats socket: at most so many are lost.", timeseries, number, []query{
			{`sum by (source) (increase(edgeguard_log_haproxy_dropped_total[$__rate_interval]))`, "{{source}}"}}},
		{"Lost", "Bytes of followed files that disappeared before they were read.", timeseries, bytes, []query{
			{`sum by (source) (increase(edgeguard_log_lost_bytes_total[$__rate_interval]))`, "{{source}}"}}},
		{"Denied, and served", "Lines whose verdict is to refuse them, by what their server did. `served` ones of addresses that are blocked for long raise the alarm blocked_served.", timeseries, perSecond, []query{
			{`sum by (source, result) (rate(edgeguard_log_denied_lines_total[$__rate_interval]))`, "{{source}}: {{result}}"}}},
		{"Late and early lines", "Lines that were older than a window on arrival, or from the future.", timeseries, perSecond, []query{
			{`sum by (source, how) (rate(edgeguard_log_untimely_lines_total[$__rate_interval]))`, "{{source}}: {{how}}"}}},
		{"Rotations", "Files that were rotated away: renamed, emptied in place, or gone before they were read.", timeseries, number, []query{
			{`sum by (source, how) (increase(edgeguard_log_rotations_total[1h]))`, "{{source}}: {{how}}"}}},
	}},
	{"Node", []panel{
		{"Alarms raised in an hour", "By kind. docs/operations.md says what each means.", timeseries, number, []query{
			{`sum by (kind) (increase(edgeguard_alarms_total[1h])) or vector(0)`, "{{kind}}"}}},
		{"Age of the saved state", "A restart forgets what came since.", timeseries, seconds, []query{
			{`time() - edgeguard_snapshot_last_success_timestamp_seconds`, "{{instance}}"}}},
		{"Config in force", "Whether the last reload succeeded. None before the first.", states, onOrOff, []query{
			{`edgeguard_config_last_reload_successful`, "{{instance}}"}}},
		{"Versions", "How many nodes run each version.", table, number, []query{
			{`count by (version, revision) (edgeguard_build_info)`, "{{version}}"}}},
		{"Refused requests to the API", "Requests without a token, from another site's page, or to a foreign host.", timeseries, rate, []query{
			{`sum by (reason) (rate(edgeguard_admin_refusals_total[$__rate_interval])) or vector(0)`, "{{reason}}"}}},
		{"Up since", "When each node started.", table, fromNow, []query{
			{`edgeguard_start_time_seconds * 1000`, "{{instance}}"}}},
	}},
}

// unshown are the metrics that the board leaves out, each with its reason. A
// test holds that every metric is on the board, in an alert, or here.
var unshown = map[string]string{
	"edgeguard_notifications_waiting":                        "a receiver that accepts nothing is an alarm",
	"edgeguard_notifications_last_success_timestamp_seconds": "a quiet node notifies nobody",
	"edgeguard_bouncer_pulls_total":                          "that a bouncer stays away is an alarm",
	"edgeguard_bouncer_last_pull_timestamp_seconds":          "that a bouncer stays away is an alarm",
	"edgeguard_bouncer_decisions_total":                      "how much bouncers are sent is of no consequence while they pull",
	"edgeguard_bouncer_refused_total":                        "a wrong key shows at the bouncer",
	"edgeguard_questions_refused_total":                      "a view of what edgeguard_decisions_total has",
	"edgeguard_crowdsec_answers_total":                       "that none is usable is a condition",
	"edgeguard_crowdsec_decisions_skipped":                   "status shows it",
	"edgeguard_crowdsec_alerts_total":                        "that they cannot be sent is a condition",
	"edgeguard_crowdsec_alerts_waiting":                      "that they cannot be sent is a condition",
	"edgeguard_haproxies":                                    "that none is connected is a condition",
	"edgeguard_haproxy_entries_total":                        "what comes of them is among the requests by source",
	"edgeguard_haproxy_refused_total":                        "refused connections are an alarm",
	"edgeguard_crawler_unasked_total":                        "those events are among the unknown claims",
	"edgeguard_spoofed_floods_total":                         "edgeguard_spoofed_flood shows each while it lasts",
	"edgeguard_site_failed_seconds":                          "edgeguard_site_fails shows each while it lasts",
	"edgeguard_packets_uncounted_total":                      "the alarm sensor_loss says that the kernel dropped some",
	"edgeguard_late_answers_total":                           "the alarm answered_late says that they are many",
	"edgeguard_memory_bytes":                                 "the parts matter to developers",
	"edgeguard_blocks_forgotten_total":                       "the alarm blocks_full says it",
	"edgeguard_event_streams":                                "readers of events are few",
	"edgeguard_event_streams_dropped_total":                  "the reader sees it",
	"edgeguard_config_last_reload_success_timestamp_seconds": "the panel of the config shows failures",
	"edgeguard_fleet_calls_total":                            "for developers",
	"edgeguard_fleet_rounds_total":                           "for developers",
	"edgeguard_fleet_keys_pushed_total":                      "for developers",
	"edgeguard_fleet_keys_delayed_total":                     "the next round pushes them",
	"edgeguard_fleet_held_back_total":                        "for developers",
	"edgeguard_fleet_displaced_total":                        "for developers",
	"edgeguard_fleet_reconciled_total":                       "for developers",
	"edgeguard_fleet_full_pushes_total":                      "for developers",
	"edgeguard_fleet_refused_slots_total":                    "the alarm of the clock says it",
	"edgeguard_fleet_unsigned_records":                       "`edgeguard fleet status` shows it",
	"edgeguard_fleet_list_records":                           "the alarm fleet_full says it",
	"edgeguard_held_blocks_total":                            "what is held now is shown",
	"edgeguard_fleet_syncs_total":                            "for developers",
	"edgeguard_fleet_joins_total":                            "for developers",
	"edgeguard_snapshots_total":                              "the age of the state says it",
	"edgeguard_snapshot_size_bytes":                          "for developers",
	"edgeguard_enforcer_packets_total":                       "of enforce.nftables alone, and anyone can send packets in another's name: `edgeguard status` shows them",
}
