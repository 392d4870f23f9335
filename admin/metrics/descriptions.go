package metrics

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

// The node's metrics, except what a histogram or a counter of this package
// holds itself.
var (
	descBuild    = describe("build_info", "Always 1; the version and build of this program.", "version", "goversion", "revision")
	descReady    = describe("ready", "1 if the node has restored its state and listens.")
	descDegraded = describe("conditions", "Conditions that degrade the node now.")
	descMonitor  = describe("monitor_mode", "1 in mode monitor, which enforces nothing.")
	descStart    = describe("start_time_seconds", "When the node started, in unix seconds.")

	descRequests     = describe("requests_total", "Events received from a source.", "source")
	descAnsweredLate = describe("late_answers_total", "Questions of proxies that were answered after the proxy had stopped waiting, at least.", "source")
	descUncounted    = describe("uncounted_total", "Requests that were not counted, or only by some of the rules, by reason.", "source", "reason")
	descDecisions    = describe("decisions_total", "Verdicts.", "protocol", "source", "action", "rule")
	descEvents       = describe("events_total", "Events decided, by action.", "action")
	descSpared       = describe("spared_total", "Events of allowed or protected addresses, which pass uncounted.")
	descLate         = describe("late_events_total", "Events too old to be counted.")
	descEarly        = describe("early_events_total", "Events with a time in the future, counted on arrival.")
	descFresh        = describe("fresh_sources_total", "New sources whose address can be forged and that completed no handshake within 3 seconds.")
	descFloods       = describe("spoofed_floods_total", "Floods of such sources that began.")
	descNotified     = describe("notifications_total", "Posts to receivers of notifications, by what came of them.", "receiver", "result")
	descUnnotified   = describe("notifications_dropped_total", "Blocks and alarms that a receiver was not told of, because it did not accept them.", "receiver")
	descNotifying    = describe("notifications_waiting", "Blocks that wait for the next message to a receiver, or the active alerts of an Alertmanager.", "receiver")
	descNotifiedAt   = describe("notifications_last_success_timestamp_seconds", "When a receiver last accepted a notification.", "receiver")

	descClaims    = describe("crawler_claims_total", "Events whose agent claims to be a crawler, by what the claim was found to be.", "crawler")
	descAskedDNS  = describe("crawler_dns_total", "Claimants that DNS was asked about, by whether it answered.", "result")
	descUnasked   = describe("crawler_unasked_total", "Events of claimants that found no room among those that DNS is asked about.")
	descHAProxies = describe("haproxies", "HAProxies that are connected by the peers protocol.", "listener")
	descLearned   = describe("haproxy_entries_total", "Entries of stick tables that HAProxies sent, or were taught.", "listener", "direction")
	descTurnedOff = describe("haproxy_refused_total", "Connections to listeners for HAProxies that were refused.", "listener", "reason")
	descPulls     = describe("bouncer_pulls_total", "Times that a bouncer of CrowdSec was told what to block.", "bouncer")
	descServed    = describe("bouncer_decisions_total", "Decisions that a bouncer was sent.", "bouncer")
	descPulled    = describe("bouncer_last_pull_timestamp_seconds", "When a bouncer last asked.", "bouncer")
	descBounced   = describe("bouncer_refused_total", "Requests of bouncers that were refused: for their key, or because they were too much.", "reason")
	descFlooded   = describe("spoofed_flood", "1 while such a flood lasts.")

	descLimit     = describe("rule_limit", "The highest count a key may reach.", "rule")
	descCrossings = describe("rule_crossings_total", "Times a key exceeded a rule's limit, by action.", "rule", "action")
	descWide      = describe("wide_crossings_total", "Times an IPv6 network exceeded a rule's limit for it, by prefix length and action.", "rule", "prefix", "action")
	descWouldPass = describe("candidate_over_total", "Events over a candidate's limit.", "rule", "threshold")
	descWouldHit  = describe("candidate_crossings_total", "Times a key exceeded a candidate's limit.", "rule", "threshold")

	descBlocks    = describe("blocks_total", "Blocks created or changed.", "rule", "action", "origin")
	descUnblocks  = describe("unblocks_total", "Blocks removed before their end.", "reason")
	descBlocked   = describe("blocked_ips", "Active blocks; a prefix counts as one.", "rule", "action", "origin", "family")
	descAllowed   = describe("allowances", "Active allowances made at run time; a prefix counts as one.")
	descMaxBlocks = describe("blocks_limit", "The highest number of active blocks (max_blocks).")
	descImported  = describe("imported_blocks", "Entries of an imported list that are in force, on this node only.", "source")
	descNotIn     = describe("imported_refused", "Entries of an imported list that are not in force.", "source", "reason")
	descMostIn    = describe("imported_limit", "The highest number of entries of all imported lists (max_imported).")
	descTheirPart = describe("elsewhere_request_ratio", "Part of the last requests that blocks refuse, or allowances spare, which this node did not make.", "source", "kind")
	descStanding  = describe("blocks_standing", "Active blocks of all kinds; manual ones fill at most half of the limit.")
	descEvicted   = describe("blocks_evicted_total", "Blocks evicted because the limit was reached.")
	descForgotten = describe("blocks_forgotten_total", "Records of unblocks and ended blocks dropped early because there were too many.")
	descAlarms    = describe("alarms_total", "Alarms raised.", "kind")
	descDropped   = describe("event_streams_dropped_total", "Event streams closed because their reader was too slow.")
	descStreams   = describe("event_streams", "Open event streams.")

	descKeys      = describe("tracked_ips", "Keys being counted; a key of several attributes counts as one.")
	descRings     = describe("tracked_rings", "Keys with a full window of slots.")
	descEvictions = describe("evictions_total", "Keys removed.", "reason")
	descRefused   = describe("refused_events_total", "Events not counted because memory was full.")
	descUnder     = describe("undercounted_counts_total", "Counts that became too low because memory was full.")
	descLimitMem  = describe("memory_limit_bytes", "Memory that all meters together may use.")
	descUsedMem   = describe("memory_used_bytes", "Memory that all meters together use.")
	descMemory    = describe("memory_bytes", "Memory in use, by part.", "part")

	descLines     = describe("log_lines_total", "Log lines, by result. By a unix datagram socket, at least so many are lost.", "source", "result")
	descUnsent    = describe("log_haproxy_dropped_total", "Lines that the HAProxy which writes a log could not send to a log server, by its stats socket: at most so many are lost.", "source")
	descBehind    = describe("log_behind_bytes", "Bytes of a followed log not read yet.", "source")
	descLostBytes = describe("log_lost_bytes_total", "Bytes of a followed log that disappeared before they were read.", "source")
	descTurned    = describe("log_rotations_total", "Rotations of a followed log: renamed, emptied in place (which may lose lines unnoticed), or gone before the file was read to its end.", "source", "how")
	descBecame    = describe("log_denied_lines_total", "Parsed lines whose verdict is to refuse them, by what their server did: turned away, or served.", "source", "result")
	descLogTimes  = describe("log_untimely_lines_total", "Parsed lines that were older than the default window on arrival, or from the future.", "source", "how")

	descLAPIAnswers = describe("crowdsec_answers_total", "Answers of the LAPI whose decisions are taken.", "result")
	descLAPISkipped = describe("crowdsec_decisions_skipped", "Decisions of the last whole list, and since, that were not taken.", "reason")
	descLAPIAlerts  = describe("crowdsec_alerts_total", "Blocks for the LAPI that they are reported to.", "result")
	descLAPIWaiting = describe("crowdsec_alerts_waiting", "Blocks that wait to be reported to a LAPI.")

	descOps       = describe("enforcer_operations_total", "Calls of an enforcer.", "enforcer", "op", "result")
	descEntries   = describe("enforcer_entries", "Entries of an enforcer's list: intended, installed, and withheld: from the kernel because the client came through a proxy, from HAProxy because a prefix is too many entries of its tables. An entry may be in several states, so they are compared and never added up.", "enforcer", "state")
	descPackets   = describe("enforcer_packets_total", "Packets of blocked addresses that the kernel dropped, or let pass in a dry run. Anyone can send them in another's name.", "enforcer", "result")
	descFailing   = describe("enforcer_failing", "Failures of an enforcer since its last success.", "enforcer")
	descEnforced  = describe("enforcer_last_success_timestamp_seconds", "When an enforcer last succeeded, in unix seconds.", "enforcer")
	descSnapshots = describe("snapshots_total", "Writes of the state file.", "result")
	descSize      = describe("snapshot_size_bytes", "Size of the last state file.")
	descSaved     = describe("snapshot_last_success_timestamp_seconds", "When the state was last saved, in unix seconds.")
	descReloaded  = describe("config_last_reload_successful", "1 if the last read of the config succeeded.")
	descReloadAt  = describe("config_last_reload_success_timestamp_seconds", "When the config was last read successfully, in unix seconds.")
)
