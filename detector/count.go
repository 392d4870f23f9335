package detector

import (
	"time"

	"edgeguard"
	"edgeguard/internal/unsafetext"
	"edgeguard/shard"
)

// Count returns what this node has counted at now of the key that an event has for a rule, by
// its index. It counts nothing, and reports false if the rule does not count such an event.
func (d *Detector) Count(now time.Time, event *edgeguard.Event, rule int) (count uint32, ok bool) {
	m := &d.meters[d.rules[rule].Meter]
	at, _ := newMoment(now, event.Time)
	var buf [attributesSize]byte
	var op shard.Op
	with, known := m.attributes(event, buf[:0])
	if !known || !m.fill(&op, event, at) {
		return 0, false
	}
	return m.table(event).Count(event.Addr, unsafetext.String(with), op.Now), true
}
