package outage

import "math/bits"

const (
	places     = 3 // addresses of a group that count
	fewSlots   = 64
	mostSlots  = 4096 // half of which are used
	mostLive   = mostSlots / 4
	someLive   = mostLive * 3 / 4 // so few are expected after the sample is widened
	ringSteps  = 8                // the window, the step now, and a power of two
	minuteRing = 32               // the base's thirty, the window's, and the one now
)

// group is a /24 or /48 with its addresses that succeeded last.
type group struct {
	key       uint64
	succeeded [places]uint32 // an address' last step with a success; 0: the place is free
	failed    [places]uint32 // its last step with a failure since it has its place
	low       [places]uint16
}

// scope is what is known of one scope: a hash table of groups, or of a sample of them.
type scope struct {
	groups []group
	used   int    // groups in the table
	sample uint64 // hashes up to this are in the sample
	armed  uint8  // bit i: whether the step i before now was
	since  uint32 // the first second of the present state
	why    Reason // why the step now is not armed

	// latest counts addresses in the table by their last step with a success.
	latest [ringSteps]uint32
	// visitors estimates the addresses with a success in each minute.
	visitors [minuteRing]uint32
}

// none is found where a group is not.
var none group

// find returns the group of a key, or an empty one, which may not be written.
func (s *scope) find(key, h uint64) *group {
	mask := uint64(len(s.groups) - 1)
	if len(s.groups) == 0 {
		return &none
	}
	for i := h & mask; ; i = (i + 1) & mask {
		if e := &s.groups[i]; e.key == key || e.key == 0 {
			return e
		}
	}
}

// place returns where an address is in a group, or -1.
func (e *group) place(low uint16) int {
	for p := range places {
		if e.low[p] == low && e.succeeded[p] != 0 {
			return p
		}
	}
	return -1
}

// admit finds a place for an address that succeeded: a free one, or that of the
// address whose success is oldest, if it is not of the minute before. So no minute
// and no window counts more than three of a group.
func (s *scope) admit(g *Guard, key uint64, low uint16, step uint32) {
	h := g.hash(key)
	e := s.find(key, h)
	if e.key == 0 {
		if s.used >= len(s.groups)/2 {
			s.rebuild(g)
			if h > s.sample {
				return
			}
			e = s.find(key, h)
		}
		e.key = key
		s.used++
	}
	oldest := 0
	for p := range places {
		if e.succeeded[p] < e.succeeded[oldest] {
			oldest = p
		}
	}
	if e.succeeded[oldest]+windowSteps >= step {
		return
	}
	e.low[oldest], e.failed[oldest] = low, 0
	if was := e.succeeded[oldest]; was != 0 {
		s.uncount(g.now, was)
	}
	s.count(step)
	s.visitors[step/minuteSteps%minuteRing] += s.scale()
	e.succeeded[oldest] = step
}

// move makes a later step the last with a success of an address in the table.
func (s *scope) move(g *Guard, e *group, p int, step uint32) {
	was := e.succeeded[p]
	s.uncount(g.now, was)
	s.count(step)
	if was/minuteSteps != step/minuteSteps {
		s.visitors[step/minuteSteps%minuteRing] += s.scale()
	}
	e.succeeded[p] = step
}

func (s *scope) count(step uint32) { s.latest[step%ringSteps]++ }

func (s *scope) uncount(now, step uint32) {
	if now-step < ringSteps {
		s.latest[step%ringSteps]--
	}
}

// scale is how many addresses one in the sample stands for.
func (s *scope) scale() uint32 { return 1 << bits.LeadingZeros64(s.sample) }

// rebuild drops the groups that say nothing any more, and makes the table so large
// that a quarter of it is used. Where that is too large, it halves the sample until it
// is not: of a flood of addresses, only a sample costs memory. Where few are left, it
// widens the sample.
func (s *scope) rebuild(g *Guard) {
	old := s.groups
	live := s.live(g)
	for live > mostLive {
		s.sample >>= 1
		live = s.live(g)
	}
	for n := live * 2; s.sample != ^uint64(0) && n <= someLive; n *= 2 {
		s.sample = s.sample<<1 | 1
	}
	size := fewSlots
	for size < live*4 {
		size *= 2
	}
	s.groups, s.used, s.latest = make([]group, size), 0, [ringSteps]uint32{}
	for i := range old {
		if e := &old[i]; s.keeps(g, e) {
			*s.find(e.key, g.hash(e.key)) = *e
			s.used++
			for _, step := range e.succeeded {
				if step != 0 && g.now-step < ringSteps {
					s.count(step)
				}
			}
		}
	}
}

// live returns how many groups of the table a rebuild keeps.
func (s *scope) live(g *Guard) (n int) {
	for i := range s.groups {
		if s.keeps(g, &s.groups[i]) {
			n++
		}
	}
	return n
}

func (s *scope) keeps(g *Guard, e *group) bool {
	return e.key != 0 && max(e.succeeded[0], e.succeeded[1], e.succeeded[2])+windowSteps+recallSteps > g.now &&
		g.hash(e.key) <= s.sample
}
