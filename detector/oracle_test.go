package detector_test

import (
	"net/netip"
	"time"

	"edgeguard"
	"edgeguard/rules"
)

// oracle decides as the detector must, in the slowest way that is plainly
// right: it keeps every event and counts by looking at all of them.
type oracle struct {
	set    *rules.Set
	allow  []netip.Prefix
	logs   map[logKey][]logged
	seq    int // of the event in hand
	blocks map[netip.Prefix]*standing
	steps  map[stepKey]*step
	told   []edgeguard.Crossing
	// crossed are the crossings of networks, until which second each is the same.
	crossed map[stepKey]int64
	// rest is what the rest of the fleet counted of a key, nil without a fleet,
	// and lost says that it cannot be reached.
	rest        func(meter int, key edgeguard.Key, slot uint32) uint32
	lost        bool
	*outageTwin // nil without a watch
}

type logKey struct {
	meter  int
	key    edgeguard.Key
	proven bool
	aside  bool // counted while the site failed
}

type logged struct {
	slot, cost uint32
	seq        int
	value      string // of a meter of different values
}

// standing is a block, and step how often a rule blocked a prefix.
type standing struct {
	prefix       netip.Prefix
	rule         string
	since, until time.Time
}

// wideKey is a size of network around the keys of a meter.
type wideKey struct{ meter, bits int }

type stepKey struct {
	rule   string
	prefix netip.Prefix
}

type step struct {
	blocks, seq  int
	since, until time.Time
}

func newOracle(set *rules.Set, allow []netip.Prefix) *oracle {
	return &oracle{set: set, allow: allow, logs: make(map[logKey][]logged), blocks: make(map[netip.Prefix]*standing), steps: make(map[stepKey]*step), crossed: make(map[stepKey]int64)}
}

// seen is what an event made of a meter's count.
type seen struct {
	own, before uint32
	cost        uint32
	counted     bool
}

// decide returns the action and the rule that the verdict must have, and when the
// client may come again if it is blocked.
func (o *oracle) decide(now time.Time, ev *edgeguard.Event) (edgeguard.Action, string, time.Duration) {
	o.seq++
	for _, p := range o.allow {
		if p.Contains(ev.Addr) {
			return edgeguard.ActionPass, "", 0
		}
	}
	counts := make([]seen, len(o.set.Meters))
	if o.outageTwin != nil {
		o.scope, o.charged, o.fails = o.scopeOf(ev), 0, false
	}
	held := o.outageTwin != nil && o.core != nil && o.answered(now, ev)
	for i := range o.set.Meters {
		if m := &o.set.Meters[i]; held && m.SparesOutages() && ev.Verified&m.Kind != 0 {
			o.hold(i, m, now, ev)
			continue
		}
		counts[i] = o.count(i, &o.set.Meters[i], now, ev)
	}
	wide := make(map[wideKey]seen)
	for i := range counts {
		if counts[i].counted && ev.Verified&o.set.Meters[i].Kind != 0 {
			o.countWide(now, i, &o.set.Meters[i], ev, counts[i].own, wide)
		}
	}
	action, rule, made := edgeguard.ActionPass, "", false
	for i := range o.set.Rules {
		r := &o.set.Rules[i]
		m, n := &o.set.Meters[r.Meter], counts[r.Meter]
		if !n.counted {
			continue
		}
		if o.lost && r.OnFleetLoss == rules.LossClosed && ev.Verified&m.Kind != 0 && action < edgeguard.ActionDeny {
			action, rule = edgeguard.ActionDeny, r.Name
		}
		if r.Scope == rules.ScopeFleet && o.rest != nil && ev.Verified&m.Kind != 0 {
			with, _ := m.AppendAttributes(ev, nil)
			rest := o.rest(r.Meter, m.Key(ev.Addr, string(with)), uint32(now.Unix())/m.Width)
			n.own, n.before = n.own+rest, n.before+rest
		}
		crossed := n.before <= r.Limit
		does := o.action(r)
		switch {
		case n.own <= r.Limit:
		case ev.Verified&m.Kind == 0:
			if crossed {
				o.tell(now, r, ev, edgeguard.ActionAlarm, "", time.Time{})
			}
		case does == edgeguard.ActionBlock:
			made = o.over(now, r, ev, crossed, made) || made
		default:
			if crossed {
				o.tell(now, r, ev, does, "", time.Time{})
			}
			if crossed && does == edgeguard.ActionDeny && o.outageTwin != nil && m.SparesOutages() && len(m.Attributes) == 0 && !m.Everybody {
				o.made = append(o.made, madeTwin{rule: r, prefix: m.Key(ev.Addr, "").Prefix, addr: ev.Addr, since: now, scope: o.scopeOf(ev)})
			}
			if does > action {
				action, rule = does, r.Name
			}
		}
		for _, bits := range []int{56, 48} {
			n, counted := wide[wideKey{r.Meter, bits}]
			if !counted || r.Wide == rules.WideOff || o.set.Meters[r.Meter].Distinct != 0 && o.wideLimit(r, bits) > rules.MaxDistinct || n.own <= o.wideLimit(r, bits) {
				continue
			}
			prefix, _ := ev.Addr.Prefix(bits)
			crossed := n.before <= o.wideLimit(r, bits)
			switch does := o.wideAction(r, bits); {
			case does == edgeguard.ActionBlock:
				made = o.overPrefix(now, r, ev, prefix, crossed, made) || made
			default:
				if crossed && o.first(now, r, ev, prefix) {
					o.tellOf(now, r, ev, prefix, does, "", time.Time{})
				}
				if does > max(action, edgeguard.ActionAlarm) {
					action, rule = does, r.Name
				}
			}
		}
	}
	if b := o.blockOf(now, ev.Addr); b != nil {
		return edgeguard.ActionDeny, b.rule, o.wait(now, ev, b)
	}
	return action, rule, 0
}

func (o *oracle) tell(now time.Time, r *rules.Rule, ev *edgeguard.Event, action edgeguard.Action, stands string, until time.Time) {
	o.tellOf(now, r, ev, o.set.Meters[r.Meter].Key(ev.Addr, "").Prefix, action, stands, until)
}

func (o *oracle) tellOf(now time.Time, r *rules.Rule, ev *edgeguard.Event, prefix netip.Prefix, action edgeguard.Action, stands string, until time.Time) {
	with, _ := o.set.Meters[r.Meter].AppendAttributes(ev, nil)
	o.told = append(o.told, edgeguard.Crossing{Time: now, Rule: r.Name, Key: edgeguard.Key{Prefix: prefix, With: string(with)}, Action: action, Stands: stands, Until: until})
}

// first reports whether a network's crossing was not seen in the window before.
func (o *oracle) first(now time.Time, r *rules.Rule, ev *edgeguard.Event, prefix netip.Prefix) bool {
	m := &o.set.Meters[r.Meter]
	if prefix == m.Key(ev.Addr, "").Prefix {
		return true
	}
	with, _ := m.AppendAttributes(ev, nil)
	key := stepKey{r.Name + " " + string(with), prefix}
	until, known := o.crossed[key]
	o.crossed[key] = now.Unix() + int64(m.Window/time.Second)
	return !known || now.Unix() >= until
}

// limit is that of a key, or of a network around keys.
func (o *oracle) limit(r *rules.Rule, prefix netip.Prefix) uint32 {
	if m := &o.set.Meters[r.Meter]; prefix.Addr().Is6() && prefix.Bits() < int(m.V6) {
		return o.wideLimit(r, prefix.Bits())
	}
	return r.Limit
}

// over is what a rule that blocks does about a count over its limit. It reports
// whether it blocked.
func (o *oracle) over(now time.Time, r *rules.Rule, ev *edgeguard.Event, crossed, made bool) bool {
	return o.overPrefix(now, r, ev, o.set.Meters[r.Meter].Key(ev.Addr, "").Prefix, crossed, made)
}

func (o *oracle) overPrefix(now time.Time, r *rules.Rule, ev *edgeguard.Event, prefix netip.Prefix, crossed, made bool) bool {
	news := crossed && o.first(now, r, ev, prefix)
	if b := o.blocks[prefix]; r.WhileOver && b != nil && b.rule == r.Name && now.Before(b.until) {
		if falls := o.falls(now, r, prefix, o.limit(r, prefix)); falls.After(b.until) {
			b.until = falls
			o.steps[stepKey{r.Name, prefix}].until = falls
		}
	}
	if o.blockOf(now, ev.Addr) != nil {
		if !crossed && !made {
			return false
		}
		if by := o.strongest(now, r, prefix); by != nil {
			if news {
				o.tellOf(now, r, ev, prefix, edgeguard.ActionDeny, by.rule, by.until)
			}
			return false
		}
	}
	o.tellOf(now, r, ev, prefix, edgeguard.ActionBlock, "", o.block(now, r, prefix))
	return true
}

// strongest returns the longest prefix's of the blocks that hold prefix and are as
// strong as r's would be.
func (o *oracle) strongest(now time.Time, r *rules.Rule, prefix netip.Prefix) *standing {
	for bits := prefix.Bits(); bits >= 0; bits-- {
		b := o.blocks[netip.PrefixFrom(prefix.Addr(), bits).Masked()]
		if b == nil || !now.Before(b.until) {
			continue
		}
		length := r.Blocked(o.next(now, r, prefix) - 1)
		if b.rule == r.Name || b.rule == edgeguard.ManualRule && bits == prefix.Bits() || o.nominal(b) >= length {
			return b
		}
	}
	return nil
}

func (o *oracle) nominal(b *standing) time.Duration {
	length := b.until.Sub(b.since)
	for i := range o.set.Rules {
		if r := &o.set.Rules[i]; r.Name == b.rule && r.WhileOver {
			longest := r.BlockFor
			for _, e := range r.Escalate {
				if e <= length {
					longest = e
				}
			}
			return longest
		}
	}
	return length
}

// falls is when the own count of a key is at most n.
func (o *oracle) falls(now time.Time, r *rules.Rule, prefix netip.Prefix, n uint32) time.Time {
	m := &o.set.Meters[r.Meter]
	slot := uint32(now.Unix()) / m.Width
	for o.window(logKey{r.Meter, edgeguard.Key{Prefix: prefix}, true, false}, slot, 0, 0) > n {
		slot++
	}
	return time.Unix(int64(slot)*int64(m.Width), 0).UTC()
}

func (o *oracle) wait(now time.Time, ev *edgeguard.Event, b *standing) time.Duration {
	end := b.until.Sub(now)
	for i := range o.set.Rules {
		r := &o.set.Rules[i]
		m := &o.set.Meters[r.Meter]
		wide := b.prefix.Addr().Is6() && b.prefix.Bits() < int(m.V6)
		if r.Name != b.rule || r.Action != edgeguard.ActionBlock || !wide && m.Key(ev.Addr, "").Prefix != b.prefix {
			continue
		}
		cost := uint32(1)
		c, counts := m.Match(ev)
		if counts {
			cost = uint32(c)
		}
		if _, known := valueOf(m, ev); m.Distinct != 0 && counts && known && !ev.Time.Truncate(time.Second).Before(now.Truncate(time.Second)) {
			cost = 0 // its value is counted already
		}
		if wide {
			cost = min(cost, o.share(r.Meter))
		}
		return max(end, o.falls(now, r, b.prefix, o.limit(r, b.prefix)-min(o.limit(r, b.prefix), cost)).Sub(now))
	}
	return end
}

// action is what r does about a count over its limit.
func (o *oracle) action(r *rules.Rule) edgeguard.Action {
	if o.lost && r.OnFleetLoss == rules.LossOpen {
		return edgeguard.ActionShadow
	}
	return r.Action
}

// block makes a block.
func (o *oracle) block(now time.Time, r *rules.Rule, prefix netip.Prefix) time.Time {
	key := stepKey{r.Name, prefix}
	if o.outageTwin != nil && o.set.Meters[r.Meter].SparesOutages() && o.set.Meters[r.Meter].Key(prefix.Addr(), "").Prefix == prefix {
		o.made = append(o.made, madeTwin{r, prefix, prefix.Addr(), now, o.steps[key], o.scope, o.before(r.Name, prefix, now) > 0})
	}
	s := &step{blocks: o.next(now, r, prefix), seq: o.seq, since: now}
	s.until = now.Add(r.Blocked(s.blocks - 1))
	if falls := o.falls(now, r, prefix, o.limit(r, prefix)); r.WhileOver && falls.After(s.until) {
		s.until = falls
	}
	o.steps[key] = s
	o.blocks[prefix] = &standing{prefix, r.Name, now, s.until}
	return s.until
}

// next is on which step a block of the key would be: one further if the last is over
// and what was counted since that began is over the limit by itself.
func (o *oracle) next(now time.Time, r *rules.Rule, prefix netip.Prefix) int {
	blocks := o.before(r.Name, prefix, now)
	if blocks == 0 {
		return 1
	}
	m, last := &o.set.Meters[r.Meter], o.steps[stepKey{r.Name, prefix}]
	slot, from := uint32(now.Unix())/m.Width, uint32(last.since.Unix())/m.Width
	if !now.Before(last.until) && (slot-from >= 60 || o.window(logKey{r.Meter, edgeguard.Key{Prefix: prefix}, true, false}, slot, from, last.seq) > o.limit(r, prefix)) {
		blocks++
	}
	return blocks
}

// before is on which step a key stands.
func (o *oracle) before(rule string, prefix netip.Prefix, now time.Time) int {
	if s := o.steps[stepKey{rule, prefix}]; s != nil && now.Before(s.until.Add(24*time.Hour)) {
		return s.blocks
	}
	return 0
}

// blockOf returns the longest live block around addr.
func (o *oracle) blockOf(now time.Time, addr netip.Addr) (best *standing) {
	for _, b := range o.blocks {
		if b.prefix.Contains(addr) && now.Before(b.until) && (best == nil || b.prefix.Bits() > best.prefix.Bits()) {
			best = b
		}
	}
	return best
}

// fleetCount takes in a total of the fleet.
func (o *oracle) fleetCount(now time.Time, meter int, prefix netip.Prefix, count uint32) {
	for _, p := range o.allow {
		if p.Bits() <= prefix.Bits() && p.Contains(prefix.Addr()) {
			return
		}
	}
	if o.outageTwin != nil {
		o.scope = noScope
	}
	for _, k := range o.set.Meters[meter].Rules {
		r := &o.set.Rules[k]
		if r.Scope == rules.ScopeFleet && count > r.Limit && o.action(r) == edgeguard.ActionBlock && o.strongest(now, r, prefix) == nil {
			o.block(now, r, prefix)
		}
	}
}

// count logs the event and adds up what the log holds of the window.
func (o *oracle) count(i int, m *rules.Meter, now time.Time, ev *edgeguard.Event) (n seen) {
	cost, ok := m.Match(ev)
	if !ok || m.Everybody && o.blockOf(now, ev.Addr) != nil {
		return n
	}
	with, ok := m.AppendAttributes(ev, nil)
	if !ok {
		return n
	}
	value, ok := valueOf(m, ev)
	if !ok {
		return n
	}
	nowSlot := uint32(now.Unix()) / m.Width
	slot := min(uint32(ev.Time.Unix())/m.Width, nowSlot)
	if slot+60 <= nowSlot {
		return n
	}
	k := logKey{i, m.Key(ev.Addr, string(with)), ev.Verified&m.Kind != 0, false}
	n = seen{before: o.window(k, nowSlot, 0, 0), cost: uint32(cost), counted: true}
	o.logs[k] = append(o.logs[k], logged{slot, uint32(cost), o.seq, value})
	n.own = o.window(k, nowSlot, 0, 0)
	if o.outageTwin != nil && o.fails {
		o.failures[failedTwin{k, o.scope, min(ev.Time.Unix(), now.Unix()) / 60}] += n.own - n.before
	}
	return n
}

// window adds up the slots of the window that ends with the slot now, from a slot
// on, and of events after one.
func (o *oracle) window(k logKey, now, from uint32, after int) (sum uint32) {
	var slots [60]uint32
	values := make(map[string]bool)
	for _, e := range o.logs[k] {
		if e.slot+60 > now && e.slot <= now && e.slot >= from && e.seq > after {
			values[e.value] = true
			slots[e.slot%60] = min(slots[e.slot%60]+e.cost, 65535)
		}
	}
	if o.set.Meters[k.meter].Distinct != 0 {
		return uint32(len(values))
	}
	for _, n := range slots {
		sum += n
	}
	return sum
}
