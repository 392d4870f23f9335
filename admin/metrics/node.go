package metrics

import (
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"

	"edgeguard/admin"
)

// theNode is the part that every node has.
func theNode(s *scrape) []*scrape { return some(s) }

// nodeParts are the node as a whole, what it counts by which rules, its memory, and what
// it has on disk.
var nodeParts = []part{
	each(theNode,
		gauge("build_info", "Always 1; the version and build of this program.", "version goversion revision",
			func(s *scrape, to series) { add(to, 1, s.Version, runtime.Version(), revision()) }),
		gauge("ready", "1 if the node has restored its state and listens.", "", func(s *scrape, to series) { is(to, s.Ready) }),
		gauge("conditions", "Conditions that degrade the node now.", "", func(s *scrape, to series) { add(to, len(s.Alarms())) }),
		gauge("monitor_mode", "1 in mode monitor, which enforces nothing.", "", func(s *scrape, to series) { is(to, s.Monitor) }),
		gauge("start_time_seconds", "When the node started.", "", func(s *scrape, to series) { at(to, s.Started) }),
		counter("events_total", "Events decided: pass, shadow or deny.", "action", func(s *scrape, to series) {
			addBy(to, by{{"pass", s.Events.Passed}, {"shadow", s.Events.Shadowed}, {"deny", s.Events.Denied}})
		}),
		counter("spared_total", "Events of allowed or protected addresses, which pass uncounted.", "", func(s *scrape, to series) { add(to, s.Events.Spared) }),
		counter("late_events_total", "Events too old to be counted.", "", func(s *scrape, to series) { add(to, s.Events.Late) }),
		counter("early_events_total", "Events with a time in the future, counted on arrival.", "", func(s *scrape, to series) { add(to, s.Events.Early) }),
		counter("unknown_refusals_total", "Refusals in a log too late to tell whose they are: counted as answers.", "",
			func(s *scrape, to series) { add(to, s.Events.Unknown) }),
		counter("fresh_sources_total", "New sources that completed no handshake within 3 seconds.", "",
			func(s *scrape, to series) { add(to, s.Flood.Fresh) }),
		counter("spoofed_floods_total", "Floods of such sources that began.", "", func(s *scrape, to series) { add(to, s.Flood.Floods) }),
		gauge("spoofed_flood", "1 while such a flood lasts.", "", func(s *scrape, to series) { is(to, s.Flood.Lasting) }),
		counter("alarms_total", "Alarms raised.", "kind", func(s *scrape, to series) { addEach(to, s.happened.Alarms) }),
		counter("event_streams_dropped_total", "Event streams closed because their reader was too slow.", "", func(s *scrape, to series) { add(to, s.happened.Dropped) }),
		gauge("event_streams", "Open event streams.", "", func(s *scrape, to series) { add(to, s.happened.Streams) }),
		gauge("tracked_ips", "Keys being counted.", "", func(s *scrape, to series) { add(to, s.Tables.Keys) }),
		gauge("tracked_rings", "Keys with a full window of slots.", "", func(s *scrape, to series) { add(to, s.Tables.Rings) }),
		counter("evictions_total", "Keys removed: for room, or because they were idle.", "reason",
			func(s *scrape, to series) { addBy(to, by{{"room", s.Tables.Evicted}, {"idle", s.Tables.Expired}}) }),
		counter("refused_events_total", "Events not counted because memory was full.", "", func(s *scrape, to series) { add(to, s.Tables.Refused) }),
		counter("undercounted_counts_total", "Counts that became too low because memory was full.", "", func(s *scrape, to series) { add(to, s.Tables.Undercounted) }),
		gauge("memory_limit_bytes", "Memory that all meters together may use.", "", func(s *scrape, to series) { add(to, s.Tables.Limit) }),
		gauge("memory_used_bytes", "Memory that all meters together use.", "", func(s *scrape, to series) { add(to, s.Tables.Used) }),
		gauge("memory_bytes", "Memory in use, by part; the part history is beside the limit.", "part", func(s *scrape, to series) { addEach(to, s.Tables.Parts) }),
	),
	each(func(s *scrape) []*admin.Site { return some(s.Site) },
		gauge("site_fails", "How many parts of the site fail now.", "", func(s *admin.Site, to series) { add(to, s.Fails()) }),
		gauge("site_failed_seconds", "Seconds of the last hour that the worst part of the site failed, at most 720.", "", func(s *admin.Site, to series) { add(to, s.FailedSeconds) }),
	),
	each(func(s *scrape) []admin.Rule { return s.rules },
		gauge("rule_limit", "The highest count a key may reach.", "rule", func(r admin.Rule, to series) { add(to, r.Limit, r.Name) }),
		counter("rule_crossings_total", "Times a key exceeded a rule's limit: block, deny, shadow, alarm, or held where the site failed.", "rule action", func(r admin.Rule, to series) {
			addCrossings(to, r.Crossings, r.Action, r.Name)
		}),
		counter("rule_held_events_total", "Failures that a rule did not count because the site failed.", "rule", func(r admin.Rule, to series) {
			if r.SparesOutages {
				add(to, r.Excused, r.Name)
			}
		}),
		counter("wide_crossings_total", "Times an IPv6 network (/56 or /48) exceeded a rule's limit for it; action alarm where it is only reported.",
			"rule prefix action", func(r admin.Rule, to series) {
				for _, w := range r.Wide {
					addCrossings(to, w.Crossings, w.Action, r.Name, "/"+strconv.Itoa(w.Bits))
				}
			}),
	),
	each(candidates,
		counter("candidate_over_total", "Events over a candidate's limit.", "rule threshold", func(c candidate, to series) { add(to, c.Over, c.rule, c.threshold) }),
		counter("candidate_crossings_total", "Times a key exceeded a candidate's limit.", "rule threshold", func(c candidate, to series) { add(to, c.Crossings, c.rule, c.threshold) }),
	),
	each(func(s *scrape) []*admin.Snapshot { return some(s.Snapshot) },
		counter("snapshots_total", "Writes of the state file.", "result", func(f *admin.Snapshot, to series) { addBy(to, by{{"ok", f.Written}, {"error", f.Failures}}) }),
		gauge("snapshot_size_bytes", "Size of the last state file.", "", func(f *admin.Snapshot, to series) { add(to, f.Bytes) }),
		gauge("snapshot_last_success_timestamp_seconds", "When the state was last saved.", "", func(f *admin.Snapshot, to series) { at(to, f.Success) }),
	),
	each(func(s *scrape) []*admin.Reload { return some(s.Reload) },
		gauge("config_last_reload_successful", "1 if the last read of the config succeeded.", "", func(r *admin.Reload, to series) { is(to, r.OK) }),
		gauge("config_last_reload_success_timestamp_seconds", "When the config was last read successfully.", "",
			func(r *admin.Reload, to series) { at(to, r.Success) }),
	),
}

// candidate is one threshold of a rule.
type candidate struct {
	*admin.Candidate
	rule, threshold string
}

// candidates returns the first ones of all rules: a file may hold any number.
func candidates(s *scrape) []candidate {
	var found []candidate
	for _, r := range s.rules {
		for i := range r.Candidates {
			c := &r.Candidates[i]
			found = append(found, candidate{c, r.Name, strconv.FormatUint(uint64(c.Threshold), 10)})
		}
	}
	return found[:min(len(found), admin.MaxLabels)]
}

// revision is the commit that the program was built of, if Go knows it.
var revision = sync.OnceValue(func() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				return s.Value
			}
		}
	}
	return "unknown"
})

// addCrossings sends how often a limit was crossed by what came of it: also what has not come yet.
func addCrossings(to series, all []admin.Crossings, action string, labels ...string) {
	if action == "report" {
		action = "alarm"
	}
	counted := make(map[string]uint64, len(all)+1)
	for _, c := range all {
		counted[c.Action] += c.Count
	}
	for came, n := range begun(counted, action) {
		add(to, n, append(slices.Clone(labels), came)...)
	}
}
