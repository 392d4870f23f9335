package detector

import (
	"slices"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/internal/unsafetext"
	"edgeguard/rules"
	"edgeguard/shard"
)

// A rule that denies and counts answers cannot refuse what it counts: an answer was sent. It
// refuses the requests that may get such an answer while its count is over the limit: those
// that meet its terms but the status. Where nothing is counted because a log does it, so does
// every rule that denies.
//
// Nothing is counted for it. So the request that brings the count over the limit was served,
// and one that is refused does not extend that, unless its refusal is counted as an answer.

// awaitsAnswer reports whether the event is a request that is decided before it has an answer; of
// recorded ones each was.
func (o *occasion) awaitsAnswer() bool {
	ev := o.event
	if o.d.config.Past {
		return ev.Kind&httpKinds != 0
	}
	return ev.Kind&httpKinds == edgeguard.KindRequest && ev.Known&edgeguard.FieldStatus == 0
}

// deniesByAnswer reports whether a rule denies a key for answers.
func deniesByAnswer(r *rules.Rule, m *rules.Meter) bool {
	return r.Action == edgeguard.ActionDeny && m.CountsAnswers()
}

// asksFor reports whether rule i refuses requests that it does not count.
func (d *Detector) asksFor(i int) bool {
	return slices.ContainsFunc(d.config.Rules.Unanswered().Rules, func(of rules.UnansweredRule) bool { return of.Rule == i && of.Answers && !of.Wide })
}

// askRules refuses the event for what rules have counted: all that deny and do not count it. A
// block goes before them, and the address of another node is not refused. look says that no
// rule counts the event.
func (v *ruling) askRules(l *listed, look bool) {
	if l.standing != blocklist.None {
		return
	}
	asked := l.d.config.Rules.Unanswered()
	var room [rules.Sets * setWords]uint64
	for i := range asked.Matches(l.event, look, l.event.Addr.Is6() && !l.d.config.Past, room[:]) {
		of := &asked.Rules[i]
		if of.Everybody && !l.asksOfItself() {
			continue
		}
		v.askRule(l, &l.d.meters[of.Meter], of)
	}
}

// asksOfItself reports whether a node asks whether it refused the request of an answer where it
// counted that: such a line is no request.
func (o *occasion) asksOfItself() bool {
	return o.audience == forNode && (o.d.config.Past || o.event.Kind&edgeguard.KindRequest == 0)
}

// mayAsk reports whether askRules may have something to say of an event that is counted.
func (d *Detector) mayAsk(ev *edgeguard.Event) bool {
	return d.asks && d.config.Rules.Unanswered().MayMatch(ev, false, ev.Addr.Is6() && !d.config.Past)
}

// askRule compares what a meter counts of the event's key, and of the networks around it, with
// the limits of a rule. Evidence that can be forged refuses nobody.
func (v *ruling) askRule(l *listed, m *meter, of *rules.UnansweredRule) {
	var buf [attributesSize]byte
	text, known := m.attributes(l.event, buf[:0])
	if !known {
		return
	}
	with := unsafetext.String(text)
	if !of.Wide {
		v.askKey(l, m, of.Rule, text)
	}
	if !l.event.Addr.Is6() {
		return
	}
	r := &l.d.rules[of.Rule]
	for k := range r.Widths {
		w, width := &m.wide[k], &r.Widths[k]
		if width.Asked && width.Action == edgeguard.ActionDeny {
			action, n := min(width.Action, l.actionOf(r)), w.Count(l.event.Addr, with, m.slotAt(l.nowSec))
			v.refuse(l, m, w.Table, with, action, &excess{count: count{count: n}, rule: of.Rule, limit: width.Limit, prefix: w.prefix(l.event.Addr), width: width})
		}
	}
}

// askKey asks the rule about its own key, not about the networks around it; text are the
// attributes.
func (v *ruling) askKey(l *listed, m *meter, i int, text []byte) {
	r, with, slot := &l.d.rules[i], unsafetext.String(text), m.slotAt(l.nowSec)
	if r.OnFleetLoss == rules.LossClosed && l.d.lost.Load() {
		v.denyWithoutFleet(i)
	}
	seen := count{count: m.proven.Count(m.heldUnder(l.event.Addr), with, slot)}
	if m.fleet && r.Scope == rules.ScopeFleet {
		seen.rest = l.restOf(m, text, slot, seen.count)
		seen = seen.inScope(r.Scope)
	}
	v.refuse(l, m, m.proven, with, l.actionOf(r), &excess{count: seen, rule: i, limit: r.Limit, prefix: m.Key(l.event.Addr, "").Prefix})
}

// refuse refuses the event for a count that is over a limit, until it will have fallen to that.
// One in sixteen is sampled.
func (v *ruling) refuse(l *listed, m *meter, table *shard.Table, with string, action edgeguard.Action, x *excess) {
	if x.count.count <= x.limit || action < edgeguard.ActionShadow {
		return
	}
	v.strengthen(action, x)
	if action != edgeguard.ActionDeny || l.audience == forNode {
		return
	}
	if l.audience == forClient {
		source := source{m, table, x.limit, m.fleet && table == m.proven && l.d.rules[x.rule].Scope == rules.ScopeFleet}
		_, most := l.d.countFallsTo(&source, l.event.Addr, with, l.nowSec, x.limit)
		v.retryAfter = max(v.retryAfter, most.Sub(l.now))
	}
	if l.d.statistics.refused.Add(1)%sampleEvery == 1 {
		l.sample(x.prefix, time.Time{})
	}
}

// restOf returns what the rest of the fleet counted of a key, as far as this node knows.
func (o *occasion) restOf(m *meter, text []byte, slot, own uint32) uint32 {
	question := o.d.questions.borrow()
	question.op = shard.Op{Addr: m.heldUnder(o.event.Addr), Now: slot, Slot: slot}
	question.op.With = unsafetext.String(append(question.text[:0], text...))
	rest := o.d.config.Rest(m.index, &question.op, own)
	o.d.questions.giveBack(question)
	return rest
}
