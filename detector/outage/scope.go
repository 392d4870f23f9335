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
	succeeded [places]uint32 // an address' last step with a success
	failed    [places]uint32 // its last step with a failure since it has its place
	mark      [places]uint32 // which address it is; 0: the place is free
}

// scope is what is known of one scope: a hash table of groups, or of a sample of them.
type scope struct {
	groups []group
	used   int    // groups in the table
	sample uint64 // hashes up to this are in the sample
	since  uint32 // the first second of the present state
	why    Reason // why the step now is not armed
	budget budget

	// latest counts addresses in the table by their last step with a success.
	latest [ringSteps]uint32
	// visitors estimates the addresses with a success in each minute.
	visitors [minuteRing]uint32
}

// none is found where a group is not.
var none group

// findGroup returns the group of a key, or else an empty one: the slot for it, if there is a table.
func (s *scope) findGroup(key, h uint64) *group {
	groups := s.groups
	mask := uint64(len(groups)) - 1
	for i := h & mask; i < uint64(len(groups)); i = (i + 1) & mask {
		if e := &groups[i]; e.key == key || e.key == 0 {
			return e
		}
	}
	return &none
}

// place returns where an address is in a group, or places if it is not.
func (e *group) place(word uint64) int {
	switch mark(word) {
	case e.mark[0]:
		return 0
	case e.mark[1]:
		return 1
	case e.mark[2]:
		return 2
	}
	return places
}

// mark tells the addresses of a group apart, and is never 0.
func mark(word uint64) uint32 { return uint32(word)&0xffff | 1<<16 }

// noteFailure notes a failure of an address, if it is in the table: others did not succeed.
func (s *scope) noteFailure(key, h, word uint64, step uint32) {
	e := s.findGroup(key, h)
	if p := e.place(word); p < places {
		e.failed[p] = max(e.failed[p], step)
	}
}

// admit finds a place for an address that succeeded: a free one, or that of the
// address whose success is oldest, if it is not of the minute before. So no minute
// and no window counts more than three of a group.
func (s *scope) admit(g *Watch, key, word uint64, step uint32) {
	h := g.keyedHash(key)
	e := s.findGroup(key, h)
	if e.key == 0 {
		if s.used >= len(s.groups)/2 {
			s.rebuild(g)
			if h > s.sample {
				return
			}
			e = s.findGroup(key, h)
		}
		e.key = key
		s.used++
	}
	oldest := 0
	for p := range places {
		if e.succeeded[p] < e.succeeded[oldest] || e.succeeded[p] == e.succeeded[oldest] && e.mark[p] < e.mark[oldest] {
			oldest = p
		}
	}
	if e.succeeded[oldest]+windowSteps >= step {
		return
	}
	e.mark[oldest], e.failed[oldest] = mark(word), 0
	if was := e.succeeded[oldest]; was != 0 {
		s.uncount(g.now, was)
	}
	s.latest[step%ringSteps]++
	s.visitors[step/minuteSteps%minuteRing] += s.scale()
	e.succeeded[oldest] = step
}

// uncount takes out the count of an address' last step with a success.
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
func (s *scope) rebuild(g *Watch) {
	old := s.groups
	live := s.liveGroups(g)
	for live > mostLive {
		s.sample >>= 1
		live = s.liveGroups(g)
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
			*s.findGroup(e.key, g.keyedHash(e.key)) = *e
			s.used++
			for _, step := range e.succeeded {
				if step != 0 && g.now-step < ringSteps {
					s.latest[step%ringSteps]++
				}
			}
		}
	}
}

// liveGroups returns how many groups of the table a rebuild keeps.
func (s *scope) liveGroups(g *Watch) (n int) {
	for i := range s.groups {
		if s.keeps(g, &s.groups[i]) {
			n++
		}
	}
	return n
}

func (s *scope) keeps(g *Watch, e *group) bool {
	return e.key != 0 && max(e.succeeded[0], e.succeeded[1], e.succeeded[2])+windowSteps+recallSteps > g.now &&
		g.keyedHash(e.key) <= s.sample
}
