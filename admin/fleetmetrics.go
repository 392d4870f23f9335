package admin

// The fleet's metrics; a node alone gives none of them. Whoever asks Redis
// itself finds the nodes one by one: `edgeguard fleet status`.
var (
	descRedisUp     = describe("redis_up", "1 if the node is joined to its fleet and all its counts are taken.")
	descRedisErrors = describe("redis_errors_total", "Exchanges with Redis that went wrong, by what was tried.", "op")
	descSyncLag     = describe("sync_lag_seconds", "Age of the newest round of pushes that Redis answered whole.")
	descFanOut      = describe("fanout_latency_seconds", "How long a block of another node was on its way: the newest, and the longest of the last minutes.", "of")

	descFleetNodes     = describe("fleet_nodes", "Nodes of the fleet heard from lately, this one included.")
	descFleetRounds    = describe("fleet_rounds_total", "Rounds of pushes.")
	descFleetCalls     = describe("fleet_calls_total", "Calls that the rounds of pushes were made of.")
	descFleetPushed    = describe("fleet_keys_pushed_total", "Keys that were pushed and answered.")
	descFleetDropped   = describe("fleet_keys_dropped_total", "Watched keys that came faster than they could be pushed.")
	descFleetHeld      = describe("fleet_held_back_total", "Events of keys for which there was no room among the suspects.")
	descFleetDisplaced = describe("fleet_displaced_total", "Suspects that made room for hotter ones.")
	descFleetCompared  = describe("fleet_reconciled_total", "Keys whose sum alone was compared with what Redis has.")
	descFleetOffered   = deprecated("fleet_offered_total", "fleet_reconciled_total")
	descFleetFull      = describe("fleet_full_pushes_total", "Keys that Redis asked to have in full.")
	descFleetWholes    = deprecated("fleet_wholes_total", "fleet_full_pushes_total")
	descFleetRefused   = describe("fleet_refused_slots_total", "Pushes of which Redis refused slots, since their time is not its own.")
	descFleetSuspects  = describe("fleet_suspects", "Keys that the fleet hears of now.")
	descFleetWatched   = describe("fleet_watched", "Suspects that a node asked all others about.")
	descFleetRecords   = describe("fleet_records_total", "Blocks and unblocks by their way: published, received, rejected as invalid, or kept, for which the fleet has no room. poison is the deprecated name of rejected.", "way")
	descFleetList      = describe("fleet_list_records", "Records of the fleet's list in Redis: blocks, allowances and unblocks.")
	descHeld           = describe("blocks_held", "Blocks of other nodes that wait for an operator's word.")
	descHeldEver       = describe("held_blocks_total", "Blocks of other nodes that waited for an operator's word, by what became of them: held counts all that are kept, confirmed had the word, proven were found by this node too, released went in when there was room, not_recorded found no room. unkept is the deprecated name of not_recorded.", "result")
	descFleetSyncs     = describe("fleet_syncs_total", "Times that the fleet's whole list was read.")
	descFleetJoins     = describe("fleet_joins_total", "Times that the fleet was joined.")
	descFleetAhead     = describe("fleet_clock_ahead_seconds", "How far the node's clock is ahead of Redis'.")
	descFleetWithin    = describe("fleet_clock_within_seconds", "How far the truth may be from edgeguard_fleet_clock_ahead_seconds.")
)

// redisOps are what errors are counted for from the start, so that the first
// one is seen as a rise.
var redisOps = []string{"beat", "connect", "forget", "install", "publish", "push", "split", "stream", "sync", "watch"}

// fleet gives how the node stands in its fleet. A latency that was never
// measured is left out: 0 would be good news.
func (s sink) fleet(f *Fleet) {
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
	s.counter(descFleetOffered, f.Reconciled)
	s.counter(descFleetFull, f.FullPushes)
	s.counter(descFleetWholes, f.FullPushes)
	s.counter(descFleetRefused, f.Refused)
	s.gauge(descFleetSuspects, float64(f.Suspects))
	s.gauge(descFleetWatched, float64(f.Watched))
	s.counter(descFleetRecords, f.Published, "published")
	s.counter(descFleetRecords, f.Received, "received")
	s.counter(descFleetRecords, f.Rejected, "rejected")
	s.counter(descFleetRecords, f.Rejected, "poison")
	s.counter(descFleetRecords, f.Kept, "kept")
	s.gauge(descFleetList, float64(f.Records))
	s.gauge(descHeld, float64(f.Held))
	s.counter(descHeldEver, f.Came, "held")
	s.counter(descHeldEver, f.Confirmed, "confirmed")
	s.counter(descHeldEver, f.Proven, "proven")
	s.counter(descHeldEver, f.Released, "released")
	s.counter(descHeldEver, f.NotRecorded, "not_recorded")
	s.counter(descHeldEver, f.NotRecorded, "unkept")
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
	s.counter(descRedisErrors, other, otherLabel)
}
