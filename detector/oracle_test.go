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
	blocks []edgeguard.Block
}

type logKey struct {
	meter  int
	key    edgeguard.Key
	proven bool
}

type logged struct{ slot, cost uint32 }

func newOracle(set *rules.Set, allow []netip.Prefix) *oracle {
	return &oracle{set: set, allow: allow, logs: make(map[logKey][]logged)}
}

// decide gives the action and the rule that the verdict must have.
func (o *oracle) decide(now time.Time, ev *edgeguard.Event) (edgeguard.Action, string) {
	for _, p := range o.allow {
		if p.Contains(ev.Addr) {
			return edgeguard.ActionPass, ""
		}
	}
	action, rule := edgeguard.ActionPass, ""
	blockedBy := o.blockedBy(now, ev.Addr)
	for i := range o.set.Meters {
		m := &o.set.Meters[i]
		count, ok := o.count(i, m, now, ev)
		if !ok {
			continue
		}
		for _, k := range m.Rules {
			r := &o.set.Rules[k]
			if count <= r.Limit || ev.Verified&m.Kind == 0 {
				continue
			}
			switch {
			case r.Action == edgeguard.ActionBlock && blockedBy == "":
				prefix := m.Key(ev.Addr, "").Prefix
				o.blocks = append(o.blocks, edgeguard.Block{Prefix: prefix, Rule: r.Name, Since: now, Until: now.Add(r.Blocked(o.before(r.Name, prefix, now)))})
				blockedBy = r.Name
			case r.Action != edgeguard.ActionBlock && r.Action > action:
				action, rule = r.Action, r.Name
			}
		}
	}
	if blockedBy != "" {
		return edgeguard.ActionDeny, blockedBy
	}
	return action, rule
}

// count logs the event and adds up what the log holds of the window.
func (o *oracle) count(i int, m *rules.Meter, now time.Time, ev *edgeguard.Event) (uint32, bool) {
	cost, ok := m.Match(ev)
	if !ok {
		return 0, false
	}
	with, ok := m.With(ev, nil)
	if !ok {
		return 0, false
	}
	nowSlot := uint32(now.Unix()) / m.Width
	slot := min(uint32(ev.Time.Unix())/m.Width, nowSlot)
	if slot+60 <= nowSlot {
		return 0, false
	}
	k := logKey{i, m.Key(ev.Addr, string(with)), ev.Verified&m.Kind != 0}
	o.logs[k] = append(o.logs[k], logged{slot, uint32(cost)})
	var slots [60]uint32
	for _, e := range o.logs[k] {
		if e.slot+60 > nowSlot && e.slot <= nowSlot {
			slots[e.slot%60] = min(slots[e.slot%60]+e.cost, 65535)
		}
	}
	sum := uint32(0)
	for _, n := range slots {
		sum += n
	}
	return sum, true
}

// before is how often the rule blocked the prefix, each time within a day of
// the block before.
func (o *oracle) before(rule string, prefix netip.Prefix, now time.Time) (n int) {
	var last time.Time
	for _, b := range o.blocks {
		if b.Rule != rule || b.Prefix != prefix {
			continue
		}
		if b.Since.Sub(last) >= 24*time.Hour {
			n = 0
		}
		n++
		last = b.Until
	}
	if now.Sub(last) >= 24*time.Hour {
		return 0
	}
	return n
}

// blockedBy names the rule of the longest live block around addr.
func (o *oracle) blockedBy(now time.Time, addr netip.Addr) string {
	best, rule := -1, ""
	for _, b := range o.blocks {
		if b.Prefix.Contains(addr) && now.Before(b.Until) && b.Prefix.Bits() > best {
			best, rule = b.Prefix.Bits(), b.Rule
		}
	}
	return rule
}
