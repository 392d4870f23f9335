package shard

import (
	"math"
	"math/bits"
	"sync"
	"sync/atomic"
)

const (
	stripes   = 64
	lineCells = 64 // a cache line of cells: all cells of a key stand in one
	rows      = 3
)

// sketch estimates how much was seen of keys that have no entry, so that a
// full table can distinguish a key that returns from one that passes by: a count-min sketch with
// conservative update, of one byte a cell. All cells of a key are in one
// cache line. It never rests a decision: an estimate only opens the door.
//
// It ages by what it holds and not by time, because meters with windows of
// any length share it: when one half has taken as many updates as it has
// cells, the other is emptied and takes over.
//
// Sources: Cormode and Muthukrishnan, "An improved data stream summary: the
// count-min sketch" (2005); Estan and Varghese, "New directions in traffic
// measurement" (2002), for the conservative update.
type sketch struct {
	cells int          // of each half of each stripe, a power of two; 0: no sketch
	taken atomic.Int64 // bytes
	parts [stripes]stripe
}

// stripe is a part of the sketch with its own lock. Halves is nil until
// the part is first needed.
type stripe struct {
	mu      sync.Mutex // guards all below
	halves  []uint8    // two of sketch.cells
	current int        // the half that takes updates
	updates int
}

// planSize settles on a sketch of at most size bytes; it takes none yet.
func (s *sketch) planSize(size int64) {
	if half := size / stripes / 2; half >= lineCells {
		s.cells = 1 << (bits.Len64(uint64(half)) - 1)
	}
}

// fullSize is the bytes that the sketch has once all of it is there.
func (s *sketch) fullSize() int64 { return int64(s.cells) * 2 * stripes }

// raise notes cost more of the key with this hash and returns its estimate,
// which includes the cost and is never too low within a half's lifetime.
func (s *sketch) raise(h uint64, cost uint16) uint32 {
	if s.cells == 0 {
		return uint32(cost)
	}
	p := s.lock(h)
	defer p.mu.Unlock()
	if p.updates++; p.updates > s.cells {
		p.turn(s.cells)
	}
	now, before, at := p.lines(h, s.cells)
	level := min(uint32(least(now, at))+uint32(cost), math.MaxUint8)
	lift(now, at, uint8(level))
	return level + uint32(least(before, at))
}

// keepHeat notes that the key with this hash, which loses its entry, had heat.
func (s *sketch) keepHeat(h uint64, heat uint32) {
	if s.cells == 0 {
		return
	}
	p := s.lock(h)
	defer p.mu.Unlock()
	now, before, at := p.lines(h, s.cells)
	heat -= min(heat, uint32(least(before, at)))
	lift(now, at, uint8(min(heat, math.MaxUint8)))
}

// lock returns the locked part that the key belongs to. Its cells are taken at
// the first use: most tables are never full.
func (s *sketch) lock(h uint64) *stripe {
	p := &s.parts[h%stripes]
	p.mu.Lock()
	if p.halves == nil {
		p.halves = make([]uint8, 2*s.cells)
		s.taken.Add(int64(len(p.halves)))
	}
	return p
}

// lines returns the key's line in the current half and in the one before, and
// where in the line its cells are.
func (p *stripe) lines(h uint64, cells int) (now, before []uint8, at [rows]uint8) {
	h *= prime1 // the bits that chose page and place are spent
	line := int(h>>32) & (cells - 1) &^ (lineCells - 1)
	for i := range at {
		at[i] = uint8(h>>(6*i)) % lineCells
	}
	now = p.halves[p.current*cells+line:][:lineCells]
	before = p.halves[(1-p.current)*cells+line:][:lineCells]
	return now, before, at
}

// turn empties the older half and makes it the current one.
func (p *stripe) turn(cells int) {
	p.current, p.updates = 1-p.current, 0
	clear(p.halves[p.current*cells:][:cells])
}

func least(line []uint8, at [rows]uint8) uint8 {
	return min(line[at[0]], line[at[1]], line[at[2]])
}

func lift(line []uint8, at [rows]uint8, to uint8) {
	for _, i := range at {
		line[i] = max(line[i], to)
	}
}
