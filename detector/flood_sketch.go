package detector

const (
	// sketchWords is the size of one generation, a power of two: 1 MiB.
	sketchWords = 1 << 17
	// sketchMost is how many sources one generation takes: four a word. One source
	// in two hundred and forty is then believed to be known and is not.
	sketchMost = 4 * sketchWords
	// generation is for how many seconds a generation takes sources. A source is
	// remembered for one generation at least, two at most.
	generation = 300
)

// sketch is a set of the sources seen lately: two Bloom filters, of which the older
// is dropped. It may hold a source by mistake, and loses none before its time
// unless it is full.
//
// All bits of a source are in one word (Putze, Sanders, Singler, 2007: a blocked
// Bloom filter), so that a packet costs one cache miss. Five of them make up for the
// words that get more sources than others: three bits anywhere were wrong as often.
type sketch struct {
	newer, older []uint64
	taken        int
	turned       int64 // when newer began
}

func newSketch() *sketch {
	return &sketch{newer: make([]uint64, sketchWords), older: make([]uint64, sketchWords)}
}

// beginGeneration begins a generation if it is time, or if there may be no room for a batch.
func (s *sketch) beginGeneration(second int64) {
	if s.taken > sketchMost-batchSize || second-s.turned >= generation {
		s.turn(second)
	}
}

// bitsOf returns where the bits of a source are: the index of a word, and the word with
// them alone.
func bitsOf(hash uint64) (at, source uint64) {
	return hash >> 47, 1<<(hash&63) | 1<<(hash>>6&63) | 1<<(hash>>12&63) | 1<<(hash>>18&63) | 1<<(hash>>24&63)
}

// has reports whether a source came in this generation.
func (s *sketch) has(hash uint64) bool {
	at, source := bitsOf(hash)
	return s.newer[at]&source == source
}

// add adds a source, and reports whether it was not there.
func (s *sketch) add(hash uint64) bool {
	at, source := bitsOf(hash)
	if s.newer[at]&source == source {
		return false
	}
	s.newer[at] |= source
	s.taken++
	return s.older[at]&source != source
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
