package detector

import (
	"math"
	"net/netip"
)

const (
	// SparedLimits is how many limits of failures a client is spared in a day, over all
	// rules and parts of the site: excused while the site fails, and taken back with a block.
	// Beyond it everything counts. It is not a lift a day: a site that crashes and starts
	// again and again would lock its visitors out.
	SparedLimits = 60
	// sparedUnit is a limit, as it is added up.
	sparedUnit = 1000
	mostShare  = 1 << 30
	sparedDay  = 86400
)

// spared adds up what each client was spared, in two halves: this day's and that of the day
// before, so that no 24 hours have more. The watch's lock guards it.
type spared struct {
	seed        uint64
	day         uint32
	now, before sums
}

// sums are sums by hash (Cormode, Muthukrishnan, 2005: a count-min sketch, with
// conservative updates), rows of as many cells, a power of two: one's is the least of its
// cells. It may be too high, where others share all its cells, and never too low. A
// table of clients that forgets when it is full would be emptied by who has a /48: a failure
// from each of its 65,536 /64s, and all may be spared again. One that takes no more
// would be filled so, and spares no visitor.
type sums []uint32

const (
	sumRows    = 4
	spareCells = 1 << 16 // a row: 1 MiB in all
)

// cell returns a hash's in a row.
func (s sums) cell(row int, hash uint64) *uint32 {
	cells := len(s) / sumRows
	return &s[row*cells+int(hash>>(16*row))&(cells-1)]
}

// sumOf returns a hash's.
func (s sums) sumOf(hash uint64) uint32 {
	if s == nil {
		return 0
	}
	least := uint32(math.MaxUint32)
	for row := range sumRows {
		least = min(least, *s.cell(row, hash))
	}
	return least
}

// addTo adds to a hash's and returns it. A sum ends at what two of may be added to.
func (s sums) addTo(hash uint64, n uint32) (sum uint32) {
	sum = min(s.sumOf(hash)+n, mostShare)
	for row := range sumRows {
		cell := s.cell(row, hash)
		*cell = max(*cell, sum)
	}
	return sum
}

// of returns what a client, an IPv4 address or a /64, was spared, in parts of [sparedUnit].
func (s *spared) of(addr netip.Addr, sec uint32) uint32 {
	if day := sec / sparedDay; day > s.day {
		s.before = nil
		if day == s.day+1 {
			s.before = s.now
		}
		s.now, s.day = nil, day
	}
	hash := sourceHash(addr, s.seed)
	return s.now.sumOf(hash) + s.before.sumOf(hash)
}

// add notes that a client was spared more.
func (s *spared) add(addr netip.Addr, n uint32) {
	if s.now == nil {
		s.now = make(sums, sumRows*spareCells)
	}
	s.now.addTo(sourceHash(addr, s.seed), n)
}

// maySpare reports whether a client may be spared more.
func (g *outageWatch) maySpare(addr netip.Addr, sec uint32) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.spared.of(addr, sec) < g.most
}

// spend has a client spared more if it may be.
func (g *outageWatch) spend(addr netip.Addr, sec, n uint32) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if n > g.most-min(g.spared.of(addr, sec), g.most) {
		return false
	}
	g.spared.add(addr, n)
	return true
}

// shareOf is a count as parts of a limit: more than [mostShare] are as many.
func shareOf(count, limit uint32) uint32 {
	return uint32(min(uint64(count)*sparedUnit/uint64(max(limit, 1)), mostShare))
}

// charge notes that an event is excused by a meter: once, and by the rule to which it is
// the greatest part of a limit.
func (w *watched) charge(o *occasion, m *meter, cost uint32) {
	if n := shareOf(cost, m.limit); n > w.charged {
		g := o.d.outages
		g.mu.Lock()
		g.spared.add(o.event.Addr, n-w.charged)
		g.mu.Unlock()
		w.charged = n
	}
}
