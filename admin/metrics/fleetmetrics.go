package metrics

import (
	"edgeguard/admin"
)

// The fleet's metrics; a node alone has none of them. `edgeguard fleet status`
// asks Redis and shows the nodes one by one.
var (
	descRedisUp     = describe("redis_up", "1 if the node has joined its fleet and Redis accepts all its counts.")
	descRedisErrors = describe("redis_errors_total", "Failed calls to Redis, by operation.", "op")
	descSyncLag     = describe("sync_lag_seconds", "Age of the newest round of pushes that Redis answered completely.")
	descFanOut      = describe("fanout_latency_seconds", "Delay of blocks from other nodes: the newest, and the longest of the last minutes.", "of")

	descFleetNodes     = describe("fleet_nodes", "Live nodes of the fleet, this one included.")
	descFleetRounds    = describe("fleet_rounds_total", "Rounds of pushes.")
	descFleetCalls     = describe("fleet_calls_total", "Calls to Redis made by rounds of pushes.")
	descFleetPushed    = describe("fleet_keys_pushed_total", "Keys pushed and acknowledged.")
	descFleetDropped   = describe("fleet_keys_dropped_total", "Watched keys dropped because they arrived faster than they could be pushed.")
	descFleetHeld      = describe("fleet_held_back_total", "Events of keys that had no room among the suspects.")
	descFleetDisplaced = describe("fleet_displaced_total", "Suspects evicted for keys of higher rank.")
	descFleetCompared  = describe("fleet_reconciled_total", "Keys pushed as a sum alone, to compare it with Redis.")
	descFleetFull      = describe("fleet_full_pushes_total", "Keys that Redis requested in full.")
	descFleetRefused   = describe("fleet_refused_slots_total", "Pushes with slots that Redis refused because its clock differs.")
	descFleetSuspects  = describe("fleet_suspects", "Keys that this node reports to the fleet now.")
	descFleetWatched   = describe("fleet_watched", "Suspects that a node asked all others to push.")
	descFleetRecords   = describe("fleet_records_total", "Blocks and unblocks: published, received, rejected as invalid, replaced or removed in Redis because all nodes reject them, or kept on this node because the fleet's list was full.", "way")
	descFleetWaiting   = describe("fleet_unpublished_records", "Changes of this node's list that are still to be published: blocks of rules go at a bounded pace.")
	descFleetUnsigned  = describe("fleet_unsigned_records", "Records of the fleet's list that are not signed by its key; 0 on a node without one.")
	descFleetList      = describe("fleet_list_records", "Records of the fleet's list in Redis: blocks, allowances and unblocks.")
	descHeld           = describe("blocks_held", "Blocks of other nodes that await confirmation.")
	descHeldEver       = describe("held_blocks_total", "Blocks of other nodes that were held: held counts all, confirmed by an operator, proven by this node's own counts, released when the budget was free, not_recorded because there were too many.", "result")
	descFleetSyncs     = describe("fleet_syncs_total", "Full reads of the fleet's list.")
	descFleetJoins     = describe("fleet_joins_total", "Times this node joined the fleet.")
	descFleetAhead     = describe("fleet_clock_ahead_seconds", "How far this node's clock is ahead of the clock of Redis.")
	descFleetWithin    = describe("fleet_clock_within_seconds", "Uncertainty of edgeguard_fleet_clock_ahead_seconds.")
)

// redisOps are what errors are counted for from the start, so that the first
// one is seen as a rise.
var redisOps = []string{"beat", "connect", "forget", "install", "publish", "push", "split", "stream", "sync", "watch"}

// fleet sends the state of the node in its fleet. A latency that was never
// measured is left out: 0 would be good news.
func (s sink) fleet(f *admin.Fleet) {
	if f == nil {
		return
	}
	s.is(descRedisUp, f.Up)
	s.redisErrors(f.Errors)
	if f.Rounds > 0 {
		s.gauge(descSyncLag, f.PushLag)
	}
	if f.Received > 0 {
		s.gauge(descFanOut, f.FanOut, "newest")
		s.gauge(descFanOut, f.FanOutMost, "longest")
	}
	s.gauge(descFleetNodes, float64(f.Alive))
	s.counter(descFleetRounds, f.Rounds)
	s.counter(descFleetCalls, f.Calls)
	s.counter(descFleetPushed, f.Pushed)
	s.counter(descFleetDropped, f.Dropped)
	s.counter(descFleetHeld, f.HeldBack)
	s.counter(descFleetDisplaced, f.Displaced)
	s.counter(descFleetCompared, f.Reconciled)
	s.counter(descFleetFull, f.FullPushes)
	s.counter(descFleetRefused, f.Refused)
	s.gauge(descFleetSuspects, float64(f.Suspects))
	s.gauge(descFleetWatched, float64(f.Watched))
	s.counter(descFleetRecords, f.Published, "published")
	s.counter(descFleetRecords, f.Received, "received")
	s.counter(descFleetRecords, f.Rejected, "rejected")
	s.counter(descFleetRecords, f.Replaced, "replaced")
	s.counter(descFleetRecords, f.Kept, "kept")
	s.gauge(descFleetWaiting, float64(f.Unpublished))
	s.gauge(descFleetUnsigned, float64(f.Unsigned))
	s.gauge(descFleetList, float64(f.Records))
	s.gauge(descHeld, float64(f.Held))
	s.counter(descHeldEver, f.Came, "held")
	s.counter(descHeldEver, f.Confirmed, "confirmed")
	s.counter(descHeldEver, f.Proven, "proven")
	s.counter(descHeldEver, f.Released, "released")
	s.counter(descHeldEver, f.NotRecorded, "not_recorded")
	s.counter(descFleetSyncs, f.Syncs)
	s.counter(descFleetJoins, f.Joins)
	if f.Joins > 0 {
		s.gauge(descFleetAhead, f.Ahead)
		s.gauge(descFleetWithin, f.Within)
	}
}

func (s sink) redisErrors(errors map[string]uint64) {
	other := uint64(0)
	for _, n := range errors {
		other += n
	}
	for _, op := range redisOps {
		s.counter(descRedisErrors, errors[op], op)
		other -= errors[op]
	}
	s.counter(descRedisErrors, other, admin.OtherLabel)
}
