package fleet

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"sync"
	"time"
)

// address returns the client behind key k. One in eight uses IPv6, with an ever
// changing address of its /64, and is alone in its /56.
func address(k int) netip.Addr {
	if k%8 == 7 {
		a := netip.MustParsePrefix("2001:db8::/32").Addr().As16()
		binary.BigEndian.PutUint32(a[4:], uint32(k)<<8)
		binary.BigEndian.PutUint64(a[8:], rand.Uint64())
		return netip.AddrFrom16(a)
	}
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], 198<<24|18<<16+uint32(k))
	return netip.AddrFrom4(b)
}

// prefix returns what is counted together for key k.
func prefix(k int) netip.Prefix {
	bits := 32
	if k%8 == 7 {
		bits = 64
	}
	p, _ := address(k).Prefix(bits)
	return p
}

// feed makes every node see events until rest: few clients send much, most a
// little, so that some are over the limit on one node, more only in the fleet,
// and many are just below.
func (f *fleet) feed() {
	for _, n := range f.nodes {
		f.feedOne(n)
	}
}

// feedOne makes one node see events until rest.
func (f *fleet) feedOne(n *node) {
	const every = 20 * time.Millisecond
	rng := rand.New(rand.NewPCG(f.rng.Uint64(), 1))
	stop := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		last := time.Now()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
			}
			// As many as are due, however late the tick is.
			due := int(time.Since(last) * time.Duration(f.Rate) / time.Second)
			last = last.Add(time.Duration(due) * time.Second / time.Duration(f.Rate))
			n.see(f.draw(rng, due))
		}
	})
	f.feeds = append(f.feeds, func() { close(stop); running.Wait() })
}

// draw returns random keys: by the square of an even chance, unless Even.
func (f *fleet) draw(rng *rand.Rand, n int) []int {
	keys := make([]int, n)
	for i := range keys {
		chance := rng.Float64()
		if !f.Even {
			chance *= chance
		}
		keys[i] = int(chance * float64(f.Clients))
	}
	return keys
}

// rest ends the feeding; the models have what was seen.
func (f *fleet) rest() {
	for _, stop := range f.feeds {
		stop()
	}
	f.feeds = nil
	f.rested = time.Now()
}

// pause waits for about d, a part of which is random.
func (f *fleet) pause(d time.Duration) {
	time.Sleep(d/2 + time.Duration(f.rng.Int64N(int64(d))))
}
