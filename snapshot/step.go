package snapshot

import (
	"net/netip"
	"time"
)

// Step is how far a key has come on the steps of a rule that escalates. Its fields
// are those of detector.Step, so that one converts to the other.
type Step struct {
	Rule         string
	Prefix       netip.Prefix
	Blocks       int
	Since, Until time.Time
	Counted      uint32
}

func (e *encoder) step(s *Step, offset time.Duration) {
	e.text(s.Rule)
	e.prefix(s.Prefix, false)
	e.uint(uint64(max(s.Blocks, 0)))
	e.time(shifted(s.Until, offset))
	e.time(shifted(s.Since, offset))
	e.uint(uint64(s.Counted))
}

// step reads a step; an old one ends with its Until.
func (d *decoder) step(s *Step, old bool) {
	s.Rule = d.text()
	s.Prefix, _ = d.prefix()
	s.Blocks = int(d.uint32())
	s.Until = d.time()
	if !old {
		s.Since = d.time()
		s.Counted = d.uint32()
	}
}
