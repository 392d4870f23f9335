package packet

import (
	"math/rand/v2"
	"net/netip"
	"testing"
	"unsafe"
)

// seen is a flow as the naive twin keeps it: nothing is ever lost.
type seen struct {
	open                           bool
	at, first, clientNext, sentAck uint32
}

// slowFlows is the table without bounds.
type slowFlows map[endpoints]*seen

func (s slowFlows) answered(now uint32, h *header) {
	ends := between(h.dest, h.source, h.destPort, h.sourcePort)
	if f := s.find(now, ends); f != nil && f.open && f.first == h.seq+1 {
		return
	}
	s[ends] = &seen{at: now, first: h.seq + 1, clientNext: h.ack, sentAck: h.seq + 1}
}

func (s slowFlows) find(now uint32, ends endpoints) *seen {
	f := s[ends]
	if f == nil {
		return nil
	}
	limit := int64(75)
	if f.open {
		limit = 600
	}
	if int64(now)-int64(f.at) > limit {
		return nil
	}
	return f
}

func (s slowFlows) trackClientACK(now uint32, h *header) evidence {
	f := s.find(now, between(h.source, h.dest, h.sourcePort, h.destPort))
	if f == nil {
		return evidence{}
	}
	near := func(a, b uint32) bool { return a-b+1<<20 <= 1<<21 }
	var e evidence
	switch {
	case !f.open && h.seq == f.clientNext && h.ack == f.sentAck:
		f.open = true
		e.opened = true
	case !f.open, !near(h.seq, f.clientNext), !near(h.ack, f.sentAck):
		return evidence{}
	}
	e.verified = true
	e.repeated = h.seq-f.clientNext >= 1<<31
	f.at = now
	if h.seq+h.length-f.clientNext < 1<<31 {
		f.clientNext = h.seq + h.length
	}
	if h.ack-f.sentAck < 1<<31 {
		f.sentAck = h.ack
	}
	return e
}

// TestFlowsAgainstUnbounded drives both with the same packets. What the table
// still has, it says as the twin does; and as long as the flows have room it
// has all.
func TestFlowsAgainstUnbounded(t *testing.T) {
	for _, c := range []struct {
		name         string
		ports, steps int
		room         bool
	}{{"with room", 3, 300000, true}, {"without room", 25000, 900000, false}} {
		t.Run(c.name, func(t *testing.T) {
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			random := rand.New(rand.NewPCG(seed, 0))
			fast, slow := &flows{seed: seed}, slowFlows{}
			now, verified, lost := uint32(1700000000), 0, 0
			for range c.steps {
				now += uint32(random.IntN(1000) / 998)
				if random.IntN(100000) == 0 {
					now += random.Uint32N(1000)
				}
				h := randomSegment(random, c.ports, slow)
				if slow.isLost(now, &h, fast) {
					lost++
				}
				if h.flags == flagSYN|flagACK {
					fast.answered(now, &h)
					slow.answered(now, &h)
					continue
				}
				was := *slow.of(&h)
				got, want := fast.trackClientACK(now, &h), slow.trackClientACK(now, &h)
				if got != want {
					t.Fatalf("got %+v, want %+v: %+v, flow %+v", got, want, h, was)
				}
				if want.verified {
					verified++
				}
			}
			if verified < 10000 || c.room != (lost == 0) || lost > c.steps/4 {
				t.Errorf("%d verified, %d lost", verified, lost)
			}
		})
	}
}

// isLost reports whether the table has lost the segment's flow, and forgets it
// too.
func (s slowFlows) isLost(now uint32, h *header, fast *flows) bool {
	ends := between(h.source, h.dest, h.sourcePort, h.destPort)
	if h.flags&flagSYN != 0 {
		ends = between(h.dest, h.source, h.destPort, h.sourcePort)
	}
	if s.find(now, ends) == nil {
		return false
	}
	set, tag := fast.locate(&ends)
	if fast.find(now, &ends, set, tag) != nil {
		return false
	}
	delete(s, ends)
	return true
}

// of returns the flow of a client's segment, or an empty one.
func (s slowFlows) of(h *header) *seen {
	if f := s[between(h.source, h.dest, h.sourcePort, h.destPort)]; f != nil {
		return f
	}
	return &seen{}
}

// randomSegment is a SYN-ACK, or a client's segment that is often right.
func randomSegment(random *rand.Rand, ports int, known slowFlows) header {
	client := netip.AddrFrom4([4]byte{10, 0, 0, byte(random.IntN(4))})
	server := netip.AddrFrom4([4]byte{192, 0, 2, 1})
	h := header{source: client, dest: server, sourcePort: uint16(random.IntN(ports)), destPort: 80, flags: flagACK, tcp: true}
	if random.IntN(4) == 0 {
		h.source, h.dest, h.sourcePort, h.destPort = h.dest, h.source, h.destPort, h.sourcePort
		h.flags |= flagSYN
		h.seq, h.ack = random.Uint32N(3)-1, random.Uint32N(3)-1
		return h
	}
	f := known.of(&h)
	h.seq, h.ack, h.length = f.clientNext, f.sentAck, random.Uint32N(1500)
	switch random.IntN(6) {
	case 0:
		h.seq += random.Uint32N(5) - 2
	case 1:
		h.ack += random.Uint32N(5) - 2
	case 2:
		h.seq += random.Uint32N(1<<22) - 1<<21
	case 3:
		h.ack += random.Uint32N(1<<22) - 1<<21
	}
	return h
}

// Half-open flows, which a stranger can make at will where the server answers,
// do not push out an open one.
func TestFloodKeepsOpenFlows(t *testing.T) {
	table := &flows{}
	now := uint32(1700000000)
	good := header{source: to4, dest: from4, sourcePort: 80, destPort: 40000, seq: 5000, ack: 1001}
	table.answered(now, &good)
	back := header{source: from4, dest: to4, sourcePort: 40000, destPort: 80, seq: 1001, ack: 5001}
	if !table.trackClientACK(now, &back).opened {
		t.Fatal("not opened")
	}
	random := rand.New(rand.NewPCG(1, 1))
	for range 10 * flowSets * flowWays {
		a := netip.AddrFrom4([4]byte{1, byte(random.Uint32()), byte(random.Uint32()), byte(random.Uint32())})
		table.answered(now, &header{source: to4, dest: a, sourcePort: 80, destPort: uint16(random.Uint32())})
	}
	if !table.trackClientACK(now+500, &back).verified {
		t.Error("the open flow was pushed out")
	}
	if table.trackClientACK(now+500+openFor+1, &back).verified {
		t.Error("the open flow is believed too long")
	}
}

// Two flows whose hashes are alike are still two.
func TestFlowsCompareBothEnds(t *testing.T) {
	table := &flows{}
	now := uint32(1700000000)
	table.answered(now, &header{source: to4, dest: from4, sourcePort: 80, destPort: 40000})
	one, other := between(from4, to4, 40000, 80), between(from4, to4, 40001, 80)
	set, tag := table.locate(&one)
	if table.find(now, &one, set, tag) == nil || table.find(now, &other, set, tag) != nil {
		t.Error("found by its hash alone")
	}
}

func TestFlowsSize(t *testing.T) {
	size := flowSets * flowWays * (unsafe.Sizeof(flow{}) + unsafe.Sizeof(uint32(0)))
	if size > 4<<20 {
		t.Errorf("the table takes %d bytes, more than 4 MB", size)
	}
}
