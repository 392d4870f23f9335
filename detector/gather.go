package detector

import (
	"math"

	"edgeguard/internal/unsafetext"
	"edgeguard/rules"
)

// halfOf returns the count of a key without an address from which on its events are passed on.
func halfOf(c *Config, r *rules.Rule) uint32 {
	if c.Gathered == nil {
		return math.MaxUint32
	}
	return r.Limit/2 + 1
}

// gather passes on an event of a key without an address that is over half of a rule's limit.
func (c *decision) gather(m *meter, r *rule, seen count) {
	if c.event.Verified&m.Kind == 0 {
		return
	}
	var buf [attributesSize]byte
	with, _ := m.AppendAttributes(c.event, buf[:0])
	c.d.config.Gathered(c.now, r.Rule, unsafetext.String(with), m.TopCount(seen.count), c.event)
}
