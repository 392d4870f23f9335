package config

import (
	"fmt"
	"slices"

	"edgeguard"
)

// asks reports whether a proxy is likely to ask about each request while it waits. The listener
// that every node has by default says nothing where a list refuses.
func (r *reader) asks(c *Config) bool {
	return slices.ContainsFunc(c.Listeners(), func(l Entry) bool {
		return l.Asked != "" && (!l.Usual || r.Known(l.feature) || len(c.Copies()) == 0)
	})
}

// countsAsked reports whether requests are counted where a proxy asks about them.
func (c *Config) countsAsked() bool {
	return slices.ContainsFunc(c.Listeners(), func(l Entry) bool { return l.Asked != "" && l.kinds&edgeguard.KindRequest != 0 })
}

// unasked warns of rules that deny and refuse nothing. Lists and HAProxy's tables know
// addresses, and an answer was sent, so that only a proxy that asks about a request can refuse
// it.
func (r *reader) unasked(c *Config) {
	var all []idle
	fixes := map[string]string{}
	for i := range c.Rules.Rules {
		rule := &c.Rules.Rules[i]
		if rule.Action != edgeguard.ActionDeny {
			continue
		}
		meter := &c.Rules.Meters[rule.Meter]
		fields, ok := meter.Askable()
		reason, fix, block := "", "", "set action: block"
		if meter.Everybody {
			block = "set action: shadow"
		}
		switch missing := fields &^ (authFields | edgeguard.FieldCrawler); {
		case !r.asks(c):
			reason, fix = "it denies the requests that match, which lists cannot know, and no listener says that a proxy asks", block+", or have a proxy ask (listen.auth, listen.envoy, haproxy.spoe)"
		case meter.Everybody && !c.countsAsked(): // is not asked, and refuses what it counts
			reason, fix = "its key has no address, so it refuses only the requests that are counted where a proxy asks, and none are", "leave out emit: nothing at the listener, or "+block
		case ok && missing == 0:
			continue
		case ok:
			reason, fix = fmt.Sprintf("no proxy that asks about a request reports %v", missing), "leave that out of the rule, or "+block
		case meter.CountsAnswers():
			reason, fix = "when reads the status, which no request has before its answer", "move the status to match, or "+block
		default:
			reason, fix = fmt.Sprintf("it denies the requests that match, and no proxy asks about %v events", meter.Kind), block
		}
		all, fixes[reason] = r.addIdle(all, i, reason), fix
	}
	for i := range all {
		r.Warn(all[i].path, r.idleText(&all[i], "only reports", "only report"), fixes[all[i].reason])
	}
}
