package detector

import (
	"math"
	"strings"

	"edgeguard"
	"edgeguard/blocklist"
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
	event := c.event
	if c.isNoClient() {
		event = nil
	}
	c.d.config.Gathered(c.now, r.Rule, unsafetext.String(with), m.TopCount(seen.count), event)
}

// isNoClient reports whether the event is of another node, of a front door or of a verified crawler.
func (l *listed) isNoClient() bool {
	return l.standing == blocklist.Peer || l.frontDoor() != "" || strings.HasPrefix(l.event.Crawler, edgeguard.VerifiedCrawler)
}
