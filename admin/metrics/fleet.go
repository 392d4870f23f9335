package metrics

import (
	"edgeguard/admin"
)

// fleetParts are the state of the node in its fleet; a node alone has none of it. `edgeguard
// fleet status` asks Redis and shows the nodes one by one. A latency that was never measured
// is left out: 0 would be good news.
var fleetParts = []part{
	each(func(s *scrape) []*admin.Fleet { return some(s.Fleet) },
		gauge("redis_up", "1 if the node has joined its fleet and Redis accepts all its counts.", "", func(f *admin.Fleet, to series) { is(to, f.Up) }),
		counter("redis_errors_total", "Failed calls to Redis, by operation.", "op", redisErrors),
		gauge("sync_lag_seconds", "Age of the newest round of pushes that Redis answered completely.", "", func(f *admin.Fleet, to series) { addIf(f.Rounds > 0, to, f.PushLag) }),
		gauge("fanout_latency_seconds", "Delay of blocks from other nodes: the newest, and the longest of the last minutes.",
			"of", func(f *admin.Fleet, to series) {
				addIf(f.Received > 0, to, f.FanOut, "newest")
				addIf(f.Received > 0, to, f.FanOutMost, "longest")
			}),
		gauge("fleet_nodes", "Live nodes of the fleet, this one included.", "", func(f *admin.Fleet, to series) { add(to, f.Alive) }),
		counter("fleet_rounds_total", "Rounds of pushes.", "", func(f *admin.Fleet, to series) { add(to, f.Rounds) }),
		counter("fleet_calls_total", "Calls to Redis made by rounds of pushes.", "", func(f *admin.Fleet, to series) { add(to, f.Calls) }),
		counter("fleet_keys_pushed_total", "Keys pushed and acknowledged.", "", func(f *admin.Fleet, to series) { add(to, f.Pushed) }),
		counter("fleet_keys_delayed_total", "Watched keys that went with the next round only.", "", func(f *admin.Fleet, to series) { add(to, f.Delayed) }),
		counter("fleet_held_back_total", "Events of keys that had no room among the suspects.", "", func(f *admin.Fleet, to series) { add(to, f.HeldBack) }),
		counter("fleet_displaced_total", "Suspects evicted for keys of higher rank.", "", func(f *admin.Fleet, to series) { add(to, f.Displaced) }),
		counter("fleet_reconciled_total", "Keys pushed as a sum alone.", "", func(f *admin.Fleet, to series) { add(to, f.Reconciled) }),
		counter("fleet_full_pushes_total", "Keys that Redis requested in full.", "", func(f *admin.Fleet, to series) { add(to, f.FullPushes) }),
		counter("fleet_refused_slots_total", "Pushes with slots that Redis refused because its clock differs.", "", func(f *admin.Fleet, to series) { add(to, f.Refused) }),
		gauge("fleet_suspects", "Keys that this node reports to the fleet now.", "", func(f *admin.Fleet, to series) { add(to, f.Suspects) }),
		gauge("fleet_watched", "Suspects that a node asked all others to push.", "", func(f *admin.Fleet, to series) { add(to, f.Watched) }),
		counter("fleet_records_total", "Blocks and unblocks: published, received, rejected as invalid, replaced or removed in Redis, or kept here because the list was full.",
			"way", func(f *admin.Fleet, to series) {
				addBy(to, by{{"published", f.Published}, {"received", f.Received}, {"rejected", f.Rejected}, {"replaced", f.Replaced}, {"kept", f.Kept}})
			}),
		gauge("fleet_unpublished_records", "Changes of this node's list that are still to be published.", "",
			func(f *admin.Fleet, to series) { add(to, f.Unpublished) }),
		gauge("fleet_staying_blocks", "Blocks by rules of answers that stay on this node, which may be broken.", "",
			func(f *admin.Fleet, to series) { add(to, f.Staying) }),
		gauge("fleet_unsigned_records", "Records of the fleet's list that are not signed by its key.", "",
			func(f *admin.Fleet, to series) { add(to, f.Unsigned) }),
		gauge("fleet_list_records", "Records of the fleet's list in Redis: at most 262,144, and operators' changes beyond.",
			"", func(f *admin.Fleet, to series) { add(to, f.Records) }),
		gauge("blocks_held", "Blocks of other nodes that await confirmation.", "", func(f *admin.Fleet, to series) { add(to, f.Held) }),
		counter("held_blocks_total", "Blocks of other nodes that were held (all), confirmed, proven by this node's counts, released when there was room, not_recorded (too many).",
			"result", func(f *admin.Fleet, to series) {
				addBy(to, by{{"held", f.Came}, {"confirmed", f.Confirmed}, {"proven", f.Proven}, {"released", f.Released}, {"not_recorded", f.NotRecorded}})
			}),
		counter("fleet_syncs_total", "Full reads of the fleet's list.", "", func(f *admin.Fleet, to series) { add(to, f.Syncs) }),
		counter("fleet_joins_total", "Times this node joined the fleet.", "", func(f *admin.Fleet, to series) { add(to, f.Joins) }),
		gauge("fleet_clock_ahead_seconds", "How far this node's clock is ahead of the clock of Redis.", "", func(f *admin.Fleet, to series) { addIf(f.Joins > 0, to, f.Ahead) }),
		gauge("fleet_clock_within_seconds", "Uncertainty of edgeguard_fleet_clock_ahead_seconds.", "", func(f *admin.Fleet, to series) { addIf(f.Joins > 0, to, f.Within) }),
	),
}

// redisOps are what errors are counted for from the start, so that the first
// one is seen as a rise.
var redisOps = []string{"beat", "connect", "forget", "install", "publish", "push", "split", "stream", "sync", "watch"}

func redisErrors(f *admin.Fleet, to series) {
	other := uint64(0)
	for _, n := range f.Errors {
		other += n
	}
	for _, op := range redisOps {
		add(to, f.Errors[op], op)
		other -= f.Errors[op]
	}
	add(to, other, admin.OtherLabel)
}
