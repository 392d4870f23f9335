package detector

import (
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/rules"
)

// listed is an event with how the lists say that its address stands.
type listed struct {
	occasion
	standing blocklist.Standing
	hit      *blocklist.Hit   // the standing block, if there is one
	block    *edgeguard.Block // that of hit
	effect   effect
}

// effect is what an event did to the block of its address.
type effect uint8

const (
	noEffect effect = iota
	extendedBlock
	madeBlock
)

// askLists asks the lists how the address stands.
func (l *listed) askLists() {
	l.standing, l.hit = l.d.standingOf(l.now, l.event.Addr)
	l.block = l.hit.Block()
}

// isExempt reports whether a list exempts the address: no rule looks at it, and nothing counts.
func (l *listed) isExempt() bool { return isExempt(l.standing) }

func isExempt(s blocklist.Standing) bool {
	return s == blocklist.Allowed || s == blocklist.Protected
}

// staysBlocked reports whether a rule has nothing to say of a key that was over its limit
// before: a block denies the event whatever the rule says, and stays as it is.
func (l *listed) staysBlocked(r *rule) bool {
	return l.standing == blocklist.Blocked && l.effect != madeBlock && !r.WhileOver
}

// noteRefusal notes with the block of the address that it refuses the event.
func (l *listed) noteRefusal() {
	if l.d.IsAnswer(l.event) {
		if l.effect == madeBlock {
			l.sample(l.block.Prefix, l.block.Until)
		}
		return
	}
	if l.audience == forClient {
		l.hit.Asked(l.events)
	}
	if nth := l.hit.Refused(l.now, l.events); nth%sampleEvery == 1 || l.effect == madeBlock {
		l.sample(l.block.Prefix, l.block.Until)
	}
}

// blockFor blocks a prefix whose count is over a limit. Where a block holds the address already
// it does so at the crossing only, and if no block of all of the prefix is as strong;
// a while_over rule extends its own. A prefix that the list refuses (a protected
// address, 0.0.0.0), and a network that holds a protected address, raises an alarm
// instead.
func (l *listed) blockFor(m *meter, x *excess) {
	if l.event.Awaited && m.Fields()&edgeguard.FieldCrawler != 0 {
		return // an event after the answer blocks, if the rule still counts it
	}
	list, r := l.d.config.List, &l.d.rules[x.rule]
	if l.standing != blocklist.Blocked { // another goroutine may have been first
		l.askLists()
	}
	var old *edgeguard.Block
	if l.standing == blocklist.Blocked {
		if r.WhileOver {
			l.extendBlock(r, x.prefix)
		}
		if !x.crossed && l.effect != madeBlock {
			return
		}
		var by *edgeguard.Block
		if by, old = l.d.strongerBlock(l.now, r, x.prefix); by != nil {
			if by.Prefix == x.prefix {
				list.Prove(x.prefix, l.now)
			}
			if x.news {
				x.reportCrossing(&l.occasion, m, edgeguard.Crossing{Action: edgeguard.ActionDeny, Stands: by.Rule, Until: by.Until})
			}
			return
		}
	}
	var until time.Time
	err, changed := blocklist.ErrProtected, false
	if x.width == nil || !list.HoldsProtected(x.prefix) {
		until, changed, err = l.d.makeBlock(l.now, r, edgeguard.Block{
			Prefix: x.prefix, Reason: x.reason(m, r.Rule), Origin: l.nodeOfEvent(), Proxied: l.event.Proxied, Count: x.count.count, Limit: x.limit,
		}, old, l.d.outages.scopeOf(l.event), rules.Provokable(l.event, l.d.config.Own))
	}
	switch {
	case err != nil:
		if x.news {
			x.reportCrossing(&l.occasion, m, edgeguard.Crossing{Action: edgeguard.ActionAlarm})
		}
		return
	case changed:
		l.effect = madeBlock
		x.reportCrossing(&l.occasion, m, edgeguard.Crossing{Action: edgeguard.ActionBlock, Until: until})
	}
	l.askLists()
}
