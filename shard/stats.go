package shard

// Stats is what a table holds and what became of keys since it was made.
type Stats struct {
	Keys, Rings int // now
	// Promoted keys outgrew their pairs and got a ring. Expired keys were idle
	// and were forgotten. Evicted keys made room for hotter ones. Refused events
	// were not counted because memory was full. Undercounted counts are too low,
	// because no ring was free.
	Promoted, Expired, Evicted, Refused, Undercounted uint64
}

// Stats adds the shards up, one lock after the other.
func (t *Table) Stats() Stats {
	var out Stats
	for i := range t.halves {
		for j := range t.halves[i].shards {
			s := &t.halves[i].shards[j]
			s.mu.Lock()
			out.Keys += int(s.keys)
			out.Rings += int(s.rings)
			out.Promoted += s.promoted
			out.Expired += s.expired
			out.Evicted += s.evicted
			out.Refused += s.refused
			out.Undercounted += s.undercounted
			s.mu.Unlock()
		}
	}
	return out
}
