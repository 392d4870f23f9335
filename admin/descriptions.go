package admin

import "github.com/prometheus/client_golang/prometheus"

// descriptions holds every metric that was described.
var descriptions []*prometheus.Desc

// describe makes a metric's description. Names follow the conventions of
// Prometheus: base units, the unit last, _total for counters.
func describe(name, help string, labels ...string) *prometheus.Desc {
	d := prometheus.NewDesc("edgeguard_"+name, help, labels, nil)
	descriptions = append(descriptions, d)
	return d
}

// deprecated describes a metric under its former name, kept for one release.
func deprecated(former, name string) *prometheus.Desc {
	return describe(former, "Deprecated: renamed to edgeguard_"+name+".")
}

// The node's metrics, but for what a histogram or a counter of this package
// holds itself.
var (
	descBuild    = describe("build_info", "Always 1; what this program was built of.", "version", "goversion", "revision")
	descReady    = describe("ready", "1 if the node has its state back and listens.")
	descDegraded = describe("conditions", "How many things make the node less than it should be.")
	descMonitor  = describe("monitor_mode", "1 if nothing is enforced.")
	descStart    = describe("start_time_seconds", "When the node started, in unix seconds.")

	descRequests  = describe("requests_total", "Events that a source handed in.", "source")
	descUncounted = describe("uncounted_total", "Requests that were not counted, or only by some of the rules, by why.", "source", "reason")
	descDecisions = describe("decisions_total", "Verdicts given.", "protocol", "action", "rule")
	descEvents    = describe("events_total", "Events decided, by what became of them.", "action")
	descSpared    = describe("spared_total", "Events of allowed or protected addresses, which pass.")
	descLate      = describe("late_events_total", "Events too old to be counted.")
	descEarly     = describe("early_events_total", "Events from the future, counted when they came.")

	descLimit     = describe("rule_limit", "The count that a key may reach.", "rule")
	descCrossings = describe("rule_crossings_total", "Times that a key went over a rule's limit, by what came of it.", "rule", "action")
	descWide      = describe("wide_crossings_total", "Times that an IPv6 network went over what a rule allows it, by its size and what came of it.", "rule", "prefix", "action")
	descWouldPass = describe("candidate_over_total", "Events over a candidate's limit.", "rule", "threshold")
	descWouldHit  = describe("candidate_crossings_total", "Times that a key went over a candidate's limit.", "rule", "threshold")

	descBlocks    = describe("blocks_total", "Blocks made or changed.", "rule", "action", "origin")
	descUnblocks  = describe("unblocks_total", "Blocks taken back before their end.", "reason")
	descBlocked   = describe("blocked_ips", "Blocks that stand; a prefix counts as one.", "rule", "action", "origin", "family")
	descAllowed   = describe("allowances", "Allowances made at run time that stand; a prefix counts as one.")
	descMaxBlocks = describe("blocks_limit", "How many blocks may stand (max_blocks).")
	descStanding  = describe("blocks_standing", "Blocks that stand, of all kinds; those by hand fill half of the limit at most.")
	descEvicted   = describe("blocks_evicted_total", "Blocks that made room for others, because the limit was reached.")
	descForgotten = describe("blocks_forgotten_total", "Unblocks and ended blocks that were forgotten early, because too many are remembered.")
	descAlarms    = describe("alarms_total", "Alarms raised.", "kind")
	descDropped   = describe("event_streams_dropped_total", "Readers of the event stream given up as too slow.")
	descStreams   = describe("event_streams", "Open event streams.")

	descKeys      = describe("tracked_ips", "Keys that are counted; a key of several attributes counts as one.")
	descRings     = describe("tracked_rings", "Keys that have slots of their own.")
	descEvictions = describe("evictions_total", "Keys forgotten.", "reason")
	descRefused   = describe("refused_events_total", "Events not counted for want of memory.")
	descUnder     = describe("undercounted_counts_total", "Counts that became too low, because memory was full.")
	descSqueezed  = deprecated("squeezed_counts_total", "undercounted_counts_total")
	descLimitMem  = describe("memory_limit_bytes", "The memory that all meters may use.")
	descUsedMem   = describe("memory_used_bytes", "The memory that all meters use.")
	descMemory    = describe("memory_bytes", "Parts of the memory in use.", "part")

	descLines     = describe("log_lines_total", "Log lines by what became of them.", "source", "result")
	descBehind    = describe("log_behind_bytes", "Bytes of a followed log that are still to be read.", "source")
	descLostBytes = describe("log_lost_bytes_total", "Bytes of a followed log that were gone before they were read.", "source")
	descTurned    = describe("log_rotations_total", "Files of a followed log that were rotated away: by renaming, emptied in place (which may lose lines unseen), or gone before they were read to their end.", "source", "how")
	descLogTimes  = describe("log_untimely_lines_total", "Parsed lines that were older than the default window when they came, or from the future.", "source", "how")
	descOps       = describe("enforcer_operations_total", "Calls of an enforcer.", "enforcer", "op", "result")
	descEntries   = describe("enforcer_entries", "Entries of an enforcer's list: intended, installed, and withheld because it works in the kernel and they came through a proxy.", "enforcer", "state")
	descFailing   = describe("enforcer_failing", "Failures of an enforcer since its last success.", "enforcer")
	descEnforced  = describe("enforcer_last_success_timestamp_seconds", "When an enforcer last succeeded, in unix seconds.", "enforcer")
	descSnapshots = describe("snapshots_total", "Snapshots of the state.", "result")
	descSize      = describe("snapshot_size_bytes", "Size of the last snapshot.")
	descSaved     = describe("snapshot_last_success_timestamp_seconds", "When the state was last saved, in unix seconds.")
	descReloaded  = describe("config_last_reload_successful", "1 if the config was read without an error the last time.")
	descReloadAt  = describe("config_last_reload_success_timestamp_seconds", "When the config was last read without an error, in unix seconds.")
)
