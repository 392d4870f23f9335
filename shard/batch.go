package shard

// batchSize is how many events are in flight at once: enough to hide a miss
// of 400 ns behind the others, few enough to stay in the first-level cache.
const batchSize = 64

// lookup is an event's key, found ahead of its turn.
type lookup struct {
	half *half
	hash uint64
	key  key
}

// AddBatch counts many events: out[i] is the answer to ops[i], and all are
// those that Add would return one by one in order. It first hashes all keys and
// asks the processor for their lines, and then counts, so that the misses
// overlap. A table of marks asks for the keys' blocks as well, before it counts. Out must
// be as long as ops.
func (t *Table) AddBatch(ops []Op, out []Count) {
	var found [batchSize]lookup
	for len(ops) > 0 {
		n := min(len(ops), batchSize)
		for i := range n {
			l, op := &found[i], &ops[i]
			if op.Addr.Is4() && !t.with {
				l.half = &t.halves[v4]
				l.key = key{first: l.half.prefix.keyOfIPv4(op.Addr)}
				l.hash = hash1(l.half.seed, l.key.first)
			} else {
				l.half, l.key = t.halfAndKey(op.Addr, op.With)
				l.hash = l.half.hashKey(l.key)
			}
			l.half.prefetch(l.hash)
		}
		if t.marks {
			for i := range n {
				found[i].half.prefetchMarks(found[i].hash, found[i].key)
			}
		}
		for i := range n {
			l := &found[i]
			out[i] = l.half.add(l.hash, l.key, &ops[i])
		}
		ops, out = ops[n:], out[n:]
	}
}
