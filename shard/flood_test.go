package shard

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"edgeguard/internal/fulltest"
)

// flood is design §6's: fresh addresses in a budget that cannot hold them,
// and among them offenders that cross their limit and ordinary clients.
type flood struct {
	memory    int64
	addresses int // of the flood
	each      int // events of each, in as many passes over all of them
	limits    []uint32
}

const (
	offenders = 100
	ordinary  = 1000
)

// outcome is how many offenders and ordinary clients went over each limit.
type outcome struct {
	offenders, ordinary []int
	used                int64
	stats               Stats
}

// run plays the flood within one window. An offender sends half as much again
// as the greatest limit, an ordinary client ten events at the most, all spread
// evenly over the flood.
func (f flood) run(mem *Memory) outcome {
	var tables []*Table
	over := make([]map[netip.Addr]bool, len(f.limits))
	for i := range f.limits {
		tables = append(tables, New(mem, Config{Seed: uint64(i)}))
		over[i] = map[netip.Addr]bool{}
	}
	var out outcome
	total := f.addresses * f.each
	var ops []Op
	counts := make([]Count, batchSize)
	flush := func() {
		for i, t := range tables {
			t.AddBatch(ops, counts[:len(ops)])
			for j, c := range counts[:len(ops)] {
				if c.Count > f.limits[i] {
					over[i][ops[j].Addr] = true
				}
			}
		}
		ops = ops[:0]
	}
	send := func(addr netip.Addr, slot uint32) {
		if ops = append(ops, Op{Addr: addr, Now: slot, Slot: slot, Cost: 1}); len(ops) == batchSize {
			flush()
		}
	}
	others := f.others(total)
	for i := range total {
		slot := 1000 + uint32(uint64(i)*59/uint64(total))
		send(numbered(10, i%f.addresses), slot)
		for ; len(others) > 0 && others[0].at <= i; others = others[1:] {
			send(others[0].addr, slot)
		}
		if i%(total/64+1) == 0 {
			out.used = max(out.used, mem.Stats().Used)
		}
	}
	flush()
	out.used = max(out.used, mem.Stats().Used)
	for i := range f.limits {
		n, m := 0, 0
		for o := range offenders {
			if o%len(f.limits) == i && over[i][numbered(20, o)] {
				n++
			}
		}
		for o := range ordinary {
			if over[i][numbered(30, o)] {
				m++
			}
		}
		out.offenders, out.ordinary = append(out.offenders, n), append(out.ordinary, m)
	}
	out.stats = tables[0].Stats()
	return out
}

// visit is one event of an offender or an ordinary client, after so many of
// the flood.
type visit struct {
	at   int
	addr netip.Addr
}

// others spreads each one's events evenly over the flood, each from another
// moment on.
func (f flood) others(total int) []visit {
	var out []visit
	spread := func(addr netip.Addr, n, first int) {
		for k := range n {
			out = append(out, visit{(k*total/n + first) % total, addr})
		}
	}
	for o := range offenders {
		limit := f.limits[o%len(f.limits)]
		spread(numbered(20, o), int(limit+limit/2), o*7919)
	}
	for o := range ordinary {
		spread(numbered(30, o), 1+o%10, o*7919)
	}
	slices.SortFunc(out, func(a, b visit) int { return a.at - b.at })
	return out
}

// numbered returns the i-th address of a block of 33 million.
func numbered(first byte, i int) netip.Addr {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], uint32(first)<<25+uint32(i))
	return netip.AddrFrom4(b)
}

// TestFlood is the flood at a fiftieth.
func TestFlood(t *testing.T) {
	fulltest.Only(t)
	for _, each := range []int{1, 5} {
		t.Run(fmt.Sprint(each), func(t *testing.T) {
			f := flood{memory: 256 << 20 / floodPart, addresses: 20_000_000 / floodPart, each: each, limits: []uint32{2000, 20}}
			out := f.run(NewMemory(f.memory))
			if out.offenders[0] < 49 || out.offenders[1] < 48 {
				t.Errorf("of 50 offenders each, %v were found", out.offenders)
			}
			if out.ordinary[0]+out.ordinary[1] > 0 {
				t.Errorf("ordinary clients over the limit: %v", out.ordinary)
			}
			if out.used > f.memory {
				t.Errorf("%d bytes of a budget of %d", out.used, f.memory)
			}
			t.Logf("%+v", out)
		})
	}
}
