package detector

const (
	// sketchBits is the size of one generation, a power of two: 1 MiB.
	sketchBits = 1 << 23
	// sketchMost is how many sources one generation takes. With three bits each,
	// one source in two hundred is then believed to be known and is not.
	sketchMost = sketchBits / 16
	// generation is for how many seconds a generation takes sources. A source is
	// remembered for one generation at least, two at most.
	generation = 300
)

// sketch is a set of the sources seen lately: two Bloom filters, of which the older
// is dropped. It may hold a source by mistake, and loses none before its time
// unless it is full.
type sketch struct {
	newer, older []uint64
	taken        int
	turned       int64 // when newer began
}

func newSketch() *sketch {
	return &sketch{newer: make([]uint64, sketchBits/64), older: make([]uint64, sketchBits/64)}
}

// add adds a source, and reports whether it was not there.
func (s *sketch) add(hash uint64, second int64) bool {
	if s.taken >= sketchMost || second-s.turned >= generation {
		s.turn(second)
	}
	if floodSet(s.newer, hash) {
		return false
	}
	s.taken++
	return !has(s.older, hash)
}

// turn begins a generation. After a long pause the one before is old, too.
func (s *sketch) turn(second int64) {
	if second-s.turned >= 2*generation {
		clear(s.newer)
	}
	s.newer, s.older = s.older, s.newer
	clear(s.newer)
	s.taken, s.turned = 0, second
}

// floodSet sets the three bits of a source, and reports whether all were set.
func floodSet(filter []uint64, hash uint64) bool {
	all := true
	for range 3 {
		word, bit := &filter[hash%sketchBits/64], uint64(1)<<(hash%64)
		all = all && *word&bit != 0
		*word |= bit
		hash >>= 20
	}
	return all
}

func has(filter []uint64, hash uint64) bool {
	for range 3 {
		if filter[hash%sketchBits/64]>>(hash%64)&1 == 0 {
			return false
		}
		hash >>= 20
	}
	return true
}
