package shard

import (
	"math/rand/v2"
	"net/netip"
	"sync"
	"testing"
	"time"

	"edgeguard/ring"
)

// obvious is the table that anybody would write first: a Go map of rings
// behind 256 locks. It is the peer of the benchmarks.
type obvious struct {
	shards [256]struct {
		mu sync.Mutex
		m  map[netip.Addr]*ring.Ring
		_  [40]byte
	}
}

func newObvious() *obvious {
	o := &obvious{}
	for i := range o.shards {
		o.shards[i].m = map[netip.Addr]*ring.Ring{}
	}
	return o
}

func (o *obvious) add(addr netip.Addr, now, slot uint32, cost uint16) uint32 {
	a := addr.As16()
	s := &o.shards[a[15]^a[14]*31^a[13]*17^a[7]]
	s.mu.Lock()
	r := s.m[addr]
	if r == nil {
		r = &ring.Ring{}
		s.m[addr] = r
	}
	n, _ := r.Add(now, slot, cost)
	s.mu.Unlock()
	return n
}

// log is the slow twin: every event of every key, counted anew each time.
type log struct {
	prefix func(netip.Addr) netip.Prefix
	with   bool
	keys   map[logKey]*history
}

type logKey struct {
	prefix netip.Prefix
	with   string
}

// history is the slots of one key, each saturated by itself.
type history struct {
	newest uint32
	slots  map[uint32]uint32
	peak   uint32
}

func newLog(c Config) *log {
	v4, v6 := int(c.V4), int(c.V6)
	if v4 == 0 {
		v4 = 32
	}
	if v6 == 0 {
		v6 = 64
	}
	return &log{with: c.With, keys: map[logKey]*history{}, prefix: func(a netip.Addr) netip.Prefix {
		bits := v6
		if a.Is4() {
			bits = v4
		}
		p, err := a.Prefix(bits)
		if err != nil {
			panic(err)
		}
		return p
	}}
}

func (l *log) key(addr netip.Addr, with string) logKey {
	k := logKey{prefix: l.prefix(addr)}
	if l.with {
		k.with = with
	}
	return k
}

func (l *log) add(op *Op) Count {
	k := l.key(op.Addr, op.With)
	h := l.keys[k]
	if h == nil {
		late := op.Now-min(op.Slot, op.Now) >= ring.Slots
		if late || op.Cost == 0 {
			return Count{Late: late}
		}
		h = &history{slots: map[uint32]uint32{}}
		l.keys[k] = h
	}
	h.newest = max(h.newest, op.Now)
	slot := min(op.Slot, h.newest)
	late := h.newest-slot >= ring.Slots
	var added uint32
	if !late && op.Cost > 0 {
		added = min(uint32(op.Cost), ring.Max-h.slots[slot])
		h.slots[slot] += added
	}
	n := h.count(op.Now)
	h.peak = max(h.peak, n)
	return Count{Count: n, Added: uint16(added), Late: late}
}

func (h *history) count(now uint32) (sum uint32) {
	now = max(now, h.newest)
	for slot, n := range h.slots {
		switch {
		case now-slot < ring.Slots:
			sum += n
		case h.newest-slot >= ring.Slots:
			delete(h.slots, slot)
		}
	}
	return sum
}

// random returns a source whose seed a failing test prints.
func random(t testing.TB) *rand.Rand {
	seed := uint64(time.Now().UnixNano())
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	})
	return rand.New(rand.NewPCG(seed, 0))
}

// traffic makes random events: few keys and many, hot and cold, of both
// families, with time that stands, walks, jumps, and now and then steps back.
type traffic struct {
	*rand.Rand
	past uint32 // no event comes before it any more
	now  uint32
	keys int
}

func (r *traffic) op() Op {
	switch r.IntN(400) {
	case 0:
		r.past += r.Uint32N(200)
	case 1, 2, 3, 4, 5, 6, 7, 8:
		r.past++
	}
	r.now = r.past + r.Uint32N(3)*r.Uint32N(2)
	op := Op{Addr: address(uint32(r.skewed())), Now: r.now, Slot: r.now, Cost: 1}
	op.With = [...]string{"host=a", "host=b", ""}[r.IntN(3)]
	switch r.IntN(20) {
	case 0:
		op.Slot -= min(op.Slot, r.Uint32N(70))
	case 1:
		op.Cost = uint16(r.IntN(300))
	case 2:
		if r.IntN(50) == 0 {
			op.Cost = uint16(r.IntN(ring.Max + 1))
		}
	case 3:
		if r.IntN(50) == 0 {
			op.Slot += r.Uint32N(5)
		}
	}
	return op
}

// skewed prefers small numbers, so that some keys are hot.
func (r *traffic) skewed() int { return r.IntN(1 + r.IntN(r.keys)) }

// address numbers addresses of both families; several share a /24 or /48.
func address(i uint32) netip.Addr {
	if i%3 == 0 {
		return netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, byte(i >> 24), byte(i >> 16), byte(i >> 8), byte(i), 15: byte(i)})
	}
	return netip.AddrFrom4([4]byte{byte(i >> 24), byte(i >> 16), byte(i >> 8), byte(i)})
}
