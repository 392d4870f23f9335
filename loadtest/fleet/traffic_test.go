package fleet

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"sync"
	"time"
)

// address is the client behind key k. One in eight speaks IPv6, from ever
// another address of its /64, and is alone in its /56.
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

// prefix is what is counted together of key k.
func prefix(k int) netip.Prefix {
	bits := 32
	if k%8 == 7 {
		bits = 64
	}
	p, _ := address(k).Prefix(bits)
	return p
}

// feed has every node see events until rest: few clients send much, most a
// little, so that some are over the limit on one node, more in the fleet only,
// and many hover below.
func (f *fleet) feed() {
	for _, n := range f.nodes {
		f.feedOne(n)
	}
}

// feedOne has one node see events until rest.
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

// draw draws keys: by the square of an even chance, if not Even.
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

// rest ends the feeding; what was seen is in the models.
func (f *fleet) rest() {
	for _, stop := range f.feeds {
		stop()
	}
	f.feeds = nil
	f.rested = time.Now()
}

// pause waits for about d, of which a part is drawn.
func (f *fleet) pause(d time.Duration) {
	time.Sleep(d/2 + time.Duration(f.rng.Int64N(int64(d))))
}
