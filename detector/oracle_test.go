package detector_test

import (
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"edgeguard"
	"edgeguard/blocklist"
	"edgeguard/detector"
	"edgeguard/rules"
	"edgeguard/shard"
)

// oracle decides as the detector must, in the slowest way that is plainly
// right: it keeps every event and counts by looking at all of them.
type oracle struct {
	set    *rules.Set
	allow  []netip.Prefix
	logs   map[logKey][]logged
	blocks []edgeguard.Block
	// rest is what the rest of the fleet counted of a key, nil without a fleet,
	// and lost says that it cannot be reached.
	rest func(meter int, key edgeguard.Key, slot uint32) uint32
	lost bool
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
		own, ok := o.count(i, m, now, ev)
		if !ok || ev.Verified&m.Kind == 0 {
			continue
		}
		if closed := o.closed(m); closed != "" && action < edgeguard.ActionDeny {
			action, rule = edgeguard.ActionDeny, closed
		}
		for _, k := range m.Rules {
			r := &o.set.Rules[k]
			count := own
			if r.Scope == rules.ScopeFleet && o.rest != nil {
				with, _ := m.With(ev, nil)
				count += o.rest(i, m.Key(ev.Addr, string(with)), uint32(now.Unix())/m.Width)
			}
			if count <= r.Limit {
				continue
			}
			switch does := o.action(r); {
			case does == edgeguard.ActionBlock && blockedBy == "":
				o.block(now, r, m.Key(ev.Addr, "").Prefix)
				blockedBy = r.Name
			case does != edgeguard.ActionBlock && does > action:
				action, rule = does, r.Name
			}
		}
	}
	if blockedBy != "" {
		return edgeguard.ActionDeny, blockedBy
	}
	return action, rule
}

// closed names the first rule of m that denies everything without the fleet.
func (o *oracle) closed(m *rules.Meter) string {
	for _, k := range m.Rules {
		if o.lost && o.set.Rules[k].OnFleetLoss == rules.LossClosed {
			return o.set.Rules[k].Name
		}
	}
	return ""
}

// action is what r does about a count over its limit.
func (o *oracle) action(r *rules.Rule) edgeguard.Action {
	if o.lost && r.OnFleetLoss == rules.LossOpen {
		return edgeguard.ActionShadow
	}
	return r.Action
}

func (o *oracle) block(now time.Time, r *rules.Rule, prefix netip.Prefix) {
	until := now.Add(r.Blocked(o.before(r.Name, prefix, now)))
	o.blocks = append(o.blocks, edgeguard.Block{Prefix: prefix, Rule: r.Name, Since: now, Until: until})
}

// fleetCount takes in a total of the fleet.
func (o *oracle) fleetCount(now time.Time, meter int, prefix netip.Prefix, count uint32) {
	for _, p := range o.allow {
		if p.Bits() <= prefix.Bits() && p.Contains(prefix.Addr()) {
			return
		}
	}
	for _, k := range o.set.Meters[meter].Rules {
		r := &o.set.Rules[k]
		if r.Scope != rules.ScopeFleet || count <= r.Limit || o.action(r) != edgeguard.ActionBlock {
			continue
		}
		stands := false
		for _, b := range o.blocks {
			stands = stands || now.Before(b.Until) && b.Prefix.Bits() <= prefix.Bits() && b.Prefix.Contains(prefix.Addr())
		}
		if !stands {
			o.block(now, r, prefix)
		}
	}
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

// TestOracle holds Decide and DecideBatch against the slow twin.
func TestOracle(t *testing.T) {
	for round := range 20 {
		holdAgainstOracle(t, mixed(t), rand.Uint64(), round, nil)
	}
}

// holdAgainstOracle decides random events one by one, in batches and by the
// oracle. Where there is a fleet, its totals come in between, and it is lost
// and found.
func holdAgainstOracle(t *testing.T, set *rules.Set, seed uint64, round int, rest func(meter int, key edgeguard.Key, slot uint32) uint32) {
	t.Helper()
	allow := []netip.Prefix{netip.MustParsePrefix("192.0.1.5/32")}
	r := rand.New(rand.NewPCG(seed, 1))
	nows, events := randomEvents(r, 3000)
	config := func() detector.Config {
		c := detector.Config{Rules: set, Memory: shard.NewMemory(64 << 20), List: blocklist.New(blocklist.Config{Allow: allow})}
		if rest != nil {
			c.Fleet = func(meter int, op *shard.Op, _ uint32) uint32 {
				return rest(meter, set.Meters[meter].Key(op.Addr, op.With), op.Now)
			}
		}
		return c
	}
	one, many, slow := detector.New(config()), detector.New(config()), newOracle(set, allow)
	slow.rest = rest
	verdicts := make([]edgeguard.Verdict, len(events))
	for from := 0; from < len(events); {
		to := min(len(events), from+1+r.IntN(200))
		many.DecideBatch(nows[from:to], events[from:to], verdicts[from:to])
		for i := from; i < to; i++ {
			v := one.Decide(nows[i], &events[i])
			action, rule := slow.decide(nows[i], &events[i])
			if v.Action != action || v.Rule != rule {
				t.Fatalf("round %d, seed %d, event %d: got %v by %q, the oracle says %v by %q", round, seed, i, v.Action, v.Rule, action, rule)
			}
			if v.Reason == "over limit" {
				v.RetryAfter = 0 // not given in a batch
			}
			if verdicts[i] != v {
				t.Fatalf("round %d, seed %d, event %d: the batch says %+v, one by one %+v", round, seed, i, verdicts[i], v)
			}
		}
		if rest != nil {
			hearFleet(r, set, nows[to-1], events[r.IntN(to)].Addr, one, many, slow)
		}
		from = to
	}
	if one.Stats() != many.Stats() {
		t.Errorf("seed %d: stats differ: %+v, in batches %+v", seed, one.Stats(), many.Stats())
	}
}

// hearFleet tells all three the same news of the fleet.
func hearFleet(r *rand.Rand, set *rules.Set, now time.Time, addr netip.Addr, one, many *detector.Detector, slow *oracle) {
	meter, count, lost := r.IntN(len(set.Meters)), r.Uint32N(100), r.IntN(4) == 0
	m := &set.Meters[meter]
	prefix, with := m.Key(addr, "").Prefix, uint64(0)
	if len(m.Attributes) > 0 {
		with = shard.Fingerprint("host=h0")
	}
	slow.lost = lost
	slow.fleetCount(now, meter, prefix, count)
	for _, d := range []*detector.Detector{one, many} {
		d.SetFleetLost(lost)
		d.FleetCount(now, meter, prefix, with, count, "over limit in the fleet")
	}
}
