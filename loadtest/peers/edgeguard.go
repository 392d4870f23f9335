package peers

import (
	"net/netip"

	"edgeguard/shard"
)

// BatchSize is how many events a batch has.
const BatchSize = 64

// Edgeguard is the shard package, with IPv4 keys and real hashing under a
// seed. Not safe for concurrent use: it keeps the operations it fills.
type Edgeguard struct {
	table *shard.Table
	op    shard.Op
	ops   [BatchSize]shard.Op
	out   [BatchSize]shard.Count
}

// Budget is the memory that a table of edgeguard may use, in bytes.
const Budget = 1 << 30

// NewEdgeguard returns an empty table in the memory given.
func NewEdgeguard(memory *shard.Memory) *Edgeguard {
	return &Edgeguard{table: shard.New(memory, shard.Config{Seed: 0x5eed})}
}

// Add counts one event and gives the address's count.
func (e *Edgeguard) Add(addr netip.Addr, slot uint32) uint32 {
	e.op.Addr = addr // field by field, as the detector does
	e.op.Now, e.op.Slot, e.op.Cost = slot, slot, 1
	return e.table.Add(&e.op).Count
}

// AddBatch counts one event of each address that next gives, all in one call,
// and returns the sum of the counts.
func (e *Edgeguard) AddBatch(slot uint32, next func() netip.Addr) uint32 {
	for i := range e.ops { // field by field, as the detector does
		op := &e.ops[i]
		op.Addr = next()
		op.Now, op.Slot, op.Cost = slot, slot, 1
	}
	e.table.AddBatch(e.ops[:], e.out[:])
	sum := uint32(0)
	for i := range e.out {
		sum += e.out[i].Count
	}
	return sum
}
