package detector

import (
	"time"

	"edgeguard"
	"edgeguard/blocklist"
)

// What was answered to a request that this node had refused is its own doing, and no evidence
// against who was answered: no rule counts it that goes by answers. Rules of requests do.
//
// Of a line in a log that is known where its status is one that turns clients away, and
// the node refused such a request when the line was written: a block of the address was
// in force, or a rule that denies was over its limit. A block says from when on. A
// count does not, and so it answers for the last seconds only; an older line counts.
//
// Of recorded events nobody knows whether a node refused them when they were recorded. But what
// this detector refuses would not have reached the site, whatever was answered then.

// refusalKnown is how old a line may be for what is counted now to tell of its time.
const refusalKnown = 10 * time.Second

// turnedAway reports whether it was this node that had an event's client turned away; unknown
// says that it may have been, and the event is too old to tell.
func (d *Detector) turnedAway(now time.Time, at moment, ev *edgeguard.Event) (ours, unknown bool) {
	if !ev.TurnedAway || d.config.Monitor || d.config.Past {
		return false, false
	}
	switch standing, hit := d.standingOf(ev.Time, ev.Addr); standing {
	case blocklist.Blocked:
		since := hit.Block().Since
		if came := hit.FirstInForce(); came.After(since) {
			since = came
		}
		if ev.Time.Nanosecond() == 0 { // a line of whole seconds
			since = since.Truncate(time.Second)
		}
		if !ev.Time.Before(since) {
			return true, false
		}
	case blocklist.None:
	default:
		return false, false
	}
	switch {
	case d.config.Unasked || len(d.config.Rules.Unanswered().Rules) == 0:
		return false, false
	case now.Sub(ev.Time) > refusalKnown:
		return false, true
	}
	return d.denies(now, at, ev), false
}

// denies reports whether a rule refuses a request, by what was counted before it.
func (d *Detector) denies(now time.Time, at moment, ev *edgeguard.Event) bool {
	var v ruling
	v.askRules(&listed{occasion: occasion{d: d, event: ev, now: now, moment: at, audience: forNode}}, true)
	return v.action == edgeguard.ActionDeny
}

// repeatDenial says of a line what the node said of its request, where the question was looked up
// and the line is what counts the request: a rule of answers does not count its own.
func (c *decision) repeatDenial(ours bool) {
	if ours && c.action < edgeguard.ActionDeny && c.event.Kind&edgeguard.KindRequest != 0 {
		c.audience = forNode
		c.askRules(&c.listed, true)
	}
}

// refusesRecorded reports whether a recorded request is refused before it is answered.
func (c *decision) refusesRecorded() bool {
	return c.d.config.withholds() && (c.standing == blocklist.Blocked || c.action == edgeguard.ActionDeny ||
		c.d.denyRequests && c.standing == blocklist.None && c.event.Kind&httpKinds != 0 && c.d.denies(c.now, c.moment, c.event))
}

// withholds reports whether recorded answers to what is refused are not counted. Who reads the
// distribution of counts is shown all.
func (c *Config) withholds() bool { return c.Past && c.Counted == nil }

// skips reports whether a meter does not count the event, since what it goes by is an answer
// that this node gave, or since a block refuses the event and the count is everybody's: one
// client that is blocked and goes on would keep it over the limit for all.
func (m *meter) skips(c *counting) bool {
	return c.ours && m.answers || m.Everybody && c.standing == blocklist.Blocked
}
