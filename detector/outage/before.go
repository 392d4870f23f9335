package outage

const (
	quarterSteps = 15 * minuteSteps
	quarters     = 3 // the half hour and the quarter that goes on
	filterWords  = 1 << 14
)

// before remembers addresses that succeeded, by quarters of an hour: a Bloom filter for
// each, with two bits of one word for an address.
type before [quarters]struct {
	quarter uint32
	words   []uint64
}

// add notes that an address, by its hash, succeeded in a step.
func (b *before) add(hash uint64, step uint32) {
	quarter := step / quarterSteps
	f := &b[quarter%quarters]
	switch {
	case f.words == nil:
		f.words = make([]uint64, filterWords)
	case f.quarter != quarter:
		clear(f.words)
	}
	f.quarter = quarter
	f.words[hash%filterWords] |= mask(hash)
}

// has reports whether an address was noted in the quarters of the half hour before a
// step, which are three.
func (b *before) has(hash uint64, step uint32) bool {
	for i := range b {
		f := &b[i]
		if f.words != nil && f.quarter <= step/quarterSteps && f.quarter >= (step-recallSteps)/quarterSteps &&
			f.words[hash%filterWords]&mask(hash) == mask(hash) {
			return true
		}
	}
	return false
}

func mask(hash uint64) uint64 { return 1<<(hash>>58) | 1<<(hash>>52&63) }
