package snapshot

import (
	"net/netip"
	"time"
)

// Step is how often a key was blocked before. Its fields are those of
// detector.Step, so that one converts to the other.
type Step struct {
	Rule   string
	Prefix netip.Prefix
	Blocks int
	Until  time.Time
}

func (e *encoder) step(s *Step, offset time.Duration) {
	e.text(s.Rule)
	e.prefix(s.Prefix, false)
	e.uint(uint64(max(s.Blocks, 0)))
	e.time(shifted(s.Until, offset))
}

func (d *decoder) step(s *Step) {
	s.Rule = d.text()
	s.Prefix, _ = d.prefix()
	s.Blocks = int(d.uint32())
	s.Until = d.time()
}
