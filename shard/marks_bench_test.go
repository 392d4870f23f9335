package shard

import "testing"

// distinctRun is a stream of events whose keys are many or one, each of so many values.
type distinctRun struct {
	keys, values uint64
	batch        bool
	every        int // events in a slot
}

// table returns a table in which every key has shown all its values.
func (r distinctRun) table(b *testing.B, distinct bool) *Table {
	t := New(hugeMemory(b, 4<<30), Config{Distinct: distinct, Seed: 42})
	for v := range r.values {
		for k := range r.keys {
			t.Add(&Op{Addr: spread(uint32(k)), Now: 1000, Slot: 1000, Cost: 1, Value: v + 1})
		}
	}
	return t
}

// run counts roundOps events of random keys and values.
func (r distinctRun) run(t *Table) func(int) {
	x := uint64(1)
	var ops [batchSize]Op
	var out [batchSize]Count
	return func(total int) {
		for i := 0; i < roundOps; i += len(ops) {
			now := 1000 + uint32((total+i)/r.every)
			for j := range ops {
				op := &ops[j]
				op.Addr, op.Now, op.Slot, op.Cost = spread(uint32(x>>33%r.keys)), now, now, 1
				op.Value = 1 + x>>20%r.values
				x = lcg(x)
			}
			if r.batch {
				t.AddBatch(ops[:], out[:])
				continue
			}
			for j := range ops {
				out[j] = t.Add(&ops[j])
			}
		}
	}
}

// BenchmarkDistinct compares a table of marks with one of counts, round by round: "times"
// is how many times the time of the counts the marks take, and "B/key" the memory that they
// take beside the entry. Rounds of events are the unit.
func BenchmarkDistinct(b *testing.B) {
	for _, bench := range []struct {
		name string
		distinctRun
	}{
		{"cold/100/batch", distinctRun{keys: 1 << 16, values: 100, every: clockEvery, batch: true}},
		{"busy/2", distinctRun{keys: 1, values: 2, every: clockEvery}},
		{"busy/20", distinctRun{keys: 1, values: 20, every: clockEvery}},
		{"busy/100", distinctRun{keys: 1, values: 100, every: clockEvery}},
		{"busy/400", distinctRun{keys: 1, values: 400, every: clockEvery}},
		{"cold/2/lone", distinctRun{keys: 1 << 19, values: 2, every: clockEvery}},
		{"cold/2/batch", distinctRun{keys: 1 << 19, values: 2, every: clockEvery, batch: true}},
		{"cold/20/lone", distinctRun{keys: 1 << 19, values: 20, every: clockEvery}},
		{"cold/20/batch", distinctRun{keys: 1 << 19, values: 20, every: clockEvery, batch: true}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			marks := bench.table(b, true)
			plain := &contestant{name: "plain", run: bench.run(bench.table(b, false))}
			distinct := &contestant{name: "distinct", run: bench.run(marks)}
			race(b, plain, distinct)
			b.ReportMetric(float64(distinct.took)/float64(plain.took), "times")
			b.ReportMetric(float64(marks.Stats().Rings)*120/float64(bench.keys), "B/key")
		})
	}
}
