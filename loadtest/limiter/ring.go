package limiter

import (
	"time"

	"edgeguard"
	"edgeguard/loadtest/traffic"
	"edgeguard/rules"
	"edgeguard/shard"
)

// Ring is edgeguard's table of 60 slots as a limiter. The product counts what it
// refuses too and then asks the table once; this one asks first, and counts
// what it allows, as the others do.
type Ring struct {
	limit uint32
	slot  time.Duration
	table *shard.Table
	op    shard.Op
}

// budget is more than any comparison needs, so that nothing is evicted. The
// table takes what it uses of it.
const budget = 16 << 30

// seed makes the table's hash the same in each run.
const seed = 0x5eed

// NewRing returns an empty one, for a threshold of which the guard leaves the
// limit.
func NewRing(threshold uint32, guard rules.Guard, window time.Duration) *Ring {
	return &Ring{limit: guard.Limit(threshold), slot: window / edgeguard.Slots,
		table: shard.New(shard.NewMemory(budget), shard.Config{Seed: seed})}
}

// Take implements [Limiter].
func (r *Ring) Take(now time.Duration, client uint32, cost uint16) (Decision, error) {
	addr, slot := traffic.Request{Client: client}.Addr(), uint32(now/r.slot)
	count := r.table.Count(addr, "", slot)
	if count+uint32(cost) <= r.limit {
		r.op.Addr, r.op.Now, r.op.Slot, r.op.Cost = addr, slot, slot, cost
		return Decision{Allowed: true, Count: float64(r.table.Add(&r.op).Count)}, nil
	}
	d := Decision{Count: float64(count), RetryAfter: Silent}
	if !never(cost, r.limit) {
		d.RetryAfter = time.Duration(slot+r.table.Until(addr, "", slot, r.limit-uint32(cost)))*r.slot - now
	}
	return d, nil
}

// Peek implements [Local].
func (r *Ring) Peek(at time.Duration, client uint32, cost uint16) bool {
	return r.table.Count(traffic.Request{Client: client}.Addr(), "", uint32(at/r.slot))+uint32(cost) <= r.limit
}
