package detector

import (
	"math"
	"net/netip"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/rules"
)

const (
	// sampleEvery is how many refused events there are for each that is sampled.
	sampleEvery = 16
	// nearParts of the limit: from the last part on a key is near it, and so many
	// requests of it are sampled until it crosses, or all of them if they are fewer.
	nearParts, nearSamples = 5, 8
)

// nearOf returns the count from which on rule r has requests sampled; the greatest
// number if it refuses nothing, or if nobody takes samples.
func nearOf(c *Config, r *rules.Rule) uint32 {
	if c.Rules.Meters[r.Meter].Everybody {
		return halfOf(c, r)
	}
	if c.Sample == nil || r.Action < edgeguard.ActionDeny {
		return math.MaxUint32
	}
	return max(r.Limit-r.Limit/nearParts, 1)
}

// sample passes the event on as one of the key or block with this prefix.
func (o *occasion) sample(prefix netip.Prefix, until time.Time) {
	if hear := o.d.config.Sample; hear != nil && prefix.IsValid() && o.audience != forCounter {
		hear(o.now, prefix, o.event, until)
	}
}

// sampleNear samples some of the events that bring a key near the limit of a rule.
func (l *listed) sampleNear(m *meter, r *rule, n count) {
	if l.standing != blocklist.Blocked && l.event.Verified&m.Kind != 0 && n.reachesMultiple(max(r.Limit/nearParts/nearSamples, 1)) {
		l.sample(m.Key(l.event.Addr, "").Prefix, time.Time{})
	}
}

// reachesMultiple reports whether the event brought the count to or over a multiple of n.
func (n count) reachesMultiple(every uint32) bool {
	return n.count/every > (n.count-min(n.count, uint32(n.added)))/every
}
