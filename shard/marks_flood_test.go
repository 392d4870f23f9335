package shard

import (
	"fmt"
	"net/netip"
	"testing"

	"edgeguard/internal/fulltest"
)

// TestMarksFlood is a flood of fresh addresses with one and with five values each, in a
// budget that cannot hold them, at a part of 10 million addresses in 256 MiB. Among them
// are scanners of 31 values, and readers who see their 3 values again and again.
func TestMarksFlood(t *testing.T) {
	fulltest.Only(t)
	const limit, scanned, read, passes = 20, 31, 3, 31
	for _, each := range []int{1, 5} {
		t.Run(fmt.Sprint(each), func(t *testing.T) {
			const addresses, budget = 10_000_000 / floodPart, 256 << 20 / floodPart
			mem := NewMemory(budget)
			table := New(mem, Config{Distinct: true, Seed: 3})
			over, greatest := map[netip.Addr]bool{}, uint32(0)
			ops, counts := make([]Op, 0, batchSize), make([]Count, batchSize)
			send := func(addr netip.Addr, slot uint32, value int) {
				ops = append(ops, Op{Addr: addr, Now: slot, Slot: slot, Cost: 1, Value: Value(5, fmt.Sprint(value))})
				if len(ops) < batchSize {
					return
				}
				table.AddBatch(ops, counts)
				for i, c := range counts {
					switch first := ops[i].Addr.As4()[0] >> 1; {
					case first == 20 && c.Count > limit:
						over[ops[i].Addr] = true
					case first == 30:
						greatest = max(greatest, c.Count)
					}
				}
				ops = ops[:0]
			}
			total := addresses * each
			for i := range total {
				slot := 1000 + uint32(i*59/total)
				send(numbered(10, i%addresses), slot, i)
				if i%(total/(passes*100)) == 0 { // one of the hundred of each sort
					nth := i / (total / (passes * 100))
					send(numbered(20, nth%100), slot, nth/100)
					send(numbered(30, nth%100), slot, nth/100%read)
				}
				if used := mem.Stats().Used; i%4096 == 0 && used > budget {
					t.Fatalf("%d bytes of a budget of %d", used, budget)
				}
			}
			if len(over) < 98 {
				t.Errorf("%d of 100 scanners were found", len(over))
			}
			if greatest > read {
				t.Errorf("a reader of %d values shows %d", read, greatest)
			}
			if s := table.Stats(); s.Evicted == 0 || s.Rings != blocksIn(table) {
				t.Errorf("the budget was to be too small, and there are %d blocks: %+v", blocksIn(table), s)
			}
			t.Logf("%d scanners, %+v", len(over), table.Stats())
			empties(t, mem, table)
		})
	}
}
